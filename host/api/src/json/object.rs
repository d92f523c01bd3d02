//! An object that was opened: a slice of its fields, and typed access to them.

use std::ops::RangeInclusive;

use super::super::error::ApiError;
use super::{Document, List, Path, Repeated, Value};

/// A JSON object with its path. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    /// Names and values, in the order of the text. If a name is repeated, its last value counts.
    fields: &'a [(&'a str, Value<'a>)],
    document: &'a Document,
    /// Path of the object in the body.
    pub(crate) path: Path<'a>,
}

impl<'a> Object<'a> {
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
            return Err(self.at(name).invalid("it is given more than once; give it once"));
        }
        Ok(())
    }

    /// Number of fields.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Path of the field `name`.
    pub(crate) fn at<'b>(&'b self, name: &'b str) -> Path<'b> {
        self.path.field(name)
    }

    /// The field `name`, unless absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        let field = self.fields.iter().rfind(|(key, _)| *key == name);
        field.map(|(_, value)| *value).filter(|value| !value.is_null())
    }

    /// The string field `name`.
    pub(crate) fn string(&self, name: &str) -> Result<Option<&'a str>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.get())),
            Some(other) => Err(self.at(name).expected("a string", other)),
        }
    }

    /// The string field `name`, which is required.
    pub(crate) fn required_string(&self, name: &str) -> Result<&'a str, ApiError> {
        self.string(name)?.ok_or_else(|| self.at(name).missing("a string"))
    }

    /// The boolean field `name`.
    pub(crate) fn boolean(&self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(self.at(name).expected("a boolean", other)),
        }
    }

    /// The field `name`, a whole number in `range`.
    pub(crate) fn integer(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, ApiError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let path = self.at(name);
        let Value::Number(number) = value else { return Err(path.expected("an integer", value)) };
        match value.as_integer() {
            Some(n) if range.contains(&n) => Ok(Some(n)),
            _ => Err(path.invalid(format_args!(
                "expected an integer from {} to {}, got {}",
                range.start(),
                range.end(),
                short(number)
            ))),
        }
    }

    /// The field `name`, a whole number from `min` up to `u32::MAX`.
    pub(crate) fn count(&self, name: &str, min: u32) -> Result<Option<u32>, ApiError> {
        let count = self.integer(name, i64::from(min)..=i64::from(u32::MAX))?;
        Ok(count.map(|n| u32::try_from(n).expect("the range was checked")))
    }

    /// The field `name`, a number in `range`.
    pub(crate) fn number(&self, name: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, ApiError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let path = self.at(name);
        let Value::Number(number) = value else { return Err(path.expected("a number", value)) };
        match value.as_float() {
            Some(n) if range.contains(&n) => Ok(Some(n)),
            _ => Err(path.invalid(format_args!(
                "expected a number from {} to {}, got {}",
                range.start(),
                range.end(),
                short(number)
            ))),
        }
    }

    /// The list field `name`.
    pub(crate) fn list(&self, name: &str) -> Result<Option<List<'a>>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::List(list)) => Ok(Some(list)),
            Some(other) => Err(self.at(name).expected("a list", other)),
        }
    }

    /// The list field `name`; empty if absent.
    pub(crate) fn list_or_empty(&self, name: &str) -> Result<List<'a>, ApiError> {
        Ok(self.list(name)?.unwrap_or_else(|| List::empty(self.document)))
    }

    /// The object field `name`, opened.
    pub(crate) fn object<'b>(&'b self, name: &'b str) -> Result<Option<Object<'b>>, ApiError> {
        self.get(name).map(|value| Object::new(value, self.at(name))).transpose()
    }
}

/// The first 40 characters of a number's text, for messages.
fn short(number: &str) -> &str {
    &number[..number.len().min(40)]
}
