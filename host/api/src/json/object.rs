//! An object that was opened: a slice of its fields, and typed access to them.

use super::document::{Document, Repeated};
use super::field::{Field, Required, Typed, UpTo};
use super::list::List;
use super::path::Path;
use super::value::{Elements, Value};
use crate::error::ApiError;
use crate::fields::shape::{ANY_OBJECT, Row, Shape};

/// A JSON object with its path. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct JsonObject<'a> {
    /// Names and values, in the order of the text. If a name is repeated, its last value counts.
    fields: &'a [(&'a str, Value<'a>)],
    document: &'a Document,
    /// Path of the object in the body.
    pub(crate) path: Path<'a>,
}

impl<'a> JsonObject<'a> {
    /// Opens `value`, which must be an object.
    pub(crate) fn new(value: Value<'a>, path: Path<'a>) -> Result<Self, ApiError> {
        let Value::Object(closed) = value else { return Err(path.expected("an object", value)) };
        Ok(Self { fields: closed.lay_out(path)?, document: closed.document(), path })
    }

    /// The object that the body is; `fields` are laid out in the document's arena.
    pub(super) fn of_body(fields: &'a [(&'a str, Value<'a>)], document: &'a Document) -> Self {
        Self { fields, document, path: Path::Body }
    }

    /// The object's fields, in the order of the text.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        self.fields.iter().copied()
    }

    /// Paths of the fields that this object, or another one of the body that was opened, repeats.
    pub(crate) fn repeated(&self) -> Repeated {
        self.document.repeated()
    }

    /// Refuses the field `name` if it stands more than once.
    pub(crate) fn check_once(&self, name: &str) -> Result<(), ApiError> {
        if self.fields.iter().filter(|(key, _)| *key == name).nth(1).is_some() {
            return Err(self.path.field(name).invalid("it is given more than once; give it once"));
        }
        Ok(())
    }

    /// Counts `count` values that a reader is about to keep of this object.
    ///
    /// # Errors
    /// 400: the body has more than are read.
    pub(crate) fn count_kept(&self, count: usize) -> Result<(), ApiError> {
        self.document.count_fields(count, self.path)
    }

    /// Lays out in the document's arena what a reader keeps of this object; it was counted.
    pub(crate) fn keep<T: Copy>(&self, kept: &[T]) -> &'a [T] {
        self.document.arena.alloc_slice_copy(kept)
    }

    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Path of a field.
    pub(crate) fn at<T: Copy, const R: bool>(&self, field: Field<T, R>) -> Path<'_> {
        self.path.field(field.row.name)
    }

    /// A field's value, not read yet; `None` where it is absent or null.
    pub(crate) fn value<T: Copy, const R: bool>(&self, field: Field<T, R>) -> Option<Value<'a>> {
        self.value_of(&field.row)
    }

    /// The value of a row's field.
    pub(crate) fn value_of(&self, row: &Row) -> Option<Value<'a>> {
        self.find(row.name)
    }

    fn find(&self, name: &str) -> Option<Value<'a>> {
        let field = self.fields.iter().rfind(|(key, _)| *key == name);
        field.map(|(_, value)| *value).filter(|value| !value.is_null())
    }

    /// A field, unless it is absent or null.
    pub(crate) fn get<'b, T: Typed>(&'b self, field: Field<T>) -> Result<Option<T::Of<'a, 'b>>, ApiError> {
        self.entry::<T>(field.row.name, &field.row.shape)
    }

    /// A required field.
    pub(crate) fn require<'b, T: Typed>(&'b self, field: Required<T>) -> Result<T::Of<'a, 'b>, ApiError> {
        let value = self.entry::<T>(field.row.name, &field.row.shape)?;
        value.ok_or_else(|| self.at(field).missing(field.row.required.unwrap_or(T::EXPECTED)))
    }

    /// A list; empty where it is absent or null.
    pub(crate) fn list<'b>(&'b self, field: Field<List<'_>>) -> Result<List<'b>, ApiError> {
        Ok(self.get(field)?.unwrap_or_else(|| List::new(Elements::empty(self.document), self.at(field))))
    }

    /// A number up to `max`, which the operator sets.
    pub(crate) fn up_to(&self, field: Field<UpTo>, max: u32) -> Result<Option<u32>, ApiError> {
        let min = if let Shape::UpTo(min, _) = field.row.shape { min } else { 0 };
        self.entry::<u32>(field.row.name, &Shape::Integer(min, max.into()))
    }

    /// What a map holds under `name`, which is the client's.
    pub(crate) fn entry<'b, T: Typed>(
        &'b self,
        name: &'b str,
        shape: &Shape,
    ) -> Result<Option<T::Of<'a, 'b>>, ApiError> {
        self.find(name).map(|value| T::read(value, shape, self.path.field(name))).transpose()
    }
}

impl Typed for JsonObject<'_> {
    const SHAPE: Shape = ANY_OBJECT;
    const EXPECTED: &'static str = "an object";
    type Of<'a: 'b, 'b> = JsonObject<'b>;

    fn read<'a: 'b, 'b>(value: Value<'a>, _: &Shape, path: Path<'b>) -> Result<JsonObject<'b>, ApiError> {
        JsonObject::new(value, path)
    }
}

impl List<'_> {
    /// The elements as objects, opened.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Result<JsonObject<'_>, ApiError>> {
        self.iter().map(|(path, value)| JsonObject::new(value, path))
    }
}
