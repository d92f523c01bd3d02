//! One value of a checked body: a slice of its text, which is parsed on access.

use serde_json::Number;

use super::document::Document;
use super::path::Path;
use super::scan::{self, Values};
use crate::error::ApiError;
use crate::raw::Json;

/// Number of fields for which an object's layout has room at once.
const FEW_FIELDS: usize = 8;

/// A JSON value. Cheap to copy.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it is written.
    Number(&'a str),
    /// A string.
    String(Text<'a>),
    /// A list.
    List(Elements<'a>),
    /// An object; [`super::JsonObject::new`] opens it.
    Object(Closed<'a>),
}

/// A string, its escapes not yet resolved.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(Slice<'a>);

/// A list without its path, cut into elements while it is iterated.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a>(Slice<'a>);

/// An object that wasn't opened: none of its fields was read.
#[derive(Clone, Copy)]
pub(crate) struct Closed<'a>(Slice<'a>);

#[derive(Clone, Copy)]
struct Slice<'a> {
    json: &'a str,
    document: &'a Document,
}

impl<'a> Value<'a> {
    /// The value whose text is `json`, a part of the document's text.
    pub(super) fn new(json: &'a str, document: &'a Document) -> Self {
        let slice = Slice { json, document };
        match json.as_bytes()[0] {
            b'"' => Self::String(Text(slice)),
            b'[' => Self::List(Elements(slice)),
            b'{' => Self::Object(Closed(slice)),
            b't' => Self::Bool(true),
            b'f' => Self::Bool(false),
            b'n' => Self::Null,
            _ => Self::Number(json),
        }
    }

    /// Name of the value's type, for messages.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "list",
            Self::Object(_) => "object",
        }
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is a text or a list without anything in it.
    pub(crate) fn is_empty(self) -> bool {
        match self {
            Self::String(text) => text.is(""),
            Self::List(elements) => elements.is_empty(),
            _ => false,
        }
    }

    /// The text of a string.
    pub(crate) fn as_str(self) -> Option<&'a str> {
        match self {
            Self::String(text) => Some(text.get()),
            _ => None,
        }
    }

    /// The value of a whole number; `None` for other values, numbers written as `1.0`, and numbers
    /// beyond 64 bits.
    pub(crate) fn as_integer(self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The value of a number, rounded to `f64`.
    pub(crate) fn as_float(self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    fn as_number(self) -> Option<Number> {
        match self {
            Self::Number(json) => serde_json::from_str(json).ok(),
            _ => None,
        }
    }

    /// The elements of a list.
    pub(crate) fn as_list(self) -> Option<Elements<'a>> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value's JSON without white space between tokens.
    pub(crate) fn to_json(self) -> Json {
        match self {
            Self::Null => Json::null(),
            Self::Bool(true) => Json::new("true".to_owned()),
            Self::Bool(false) => Json::new("false".to_owned()),
            Self::Number(json) => Json::new(json.to_owned()),
            Self::String(Text(slice)) | Self::List(Elements(slice)) | Self::Object(Closed(slice)) => {
                Json::new(scan::minified(slice.json))
            }
        }
    }

    /// Length in bytes of the value's JSON as the client wrote it (5 for `null` and booleans).
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Null | Self::Bool(_) => 5,
            Self::Number(json) => json.len(),
            Self::String(Text(slice)) | Self::List(Elements(slice)) | Self::Object(Closed(slice)) => {
                slice.json.len()
            }
        }
    }

    /// Whether the value's brackets nest deeper than `max`.
    pub(crate) fn nests_deeper(self, max: usize) -> bool {
        match self {
            Self::List(Elements(slice)) | Self::Object(Closed(slice)) => {
                scan::nests_deeper(slice.json.as_bytes(), max)
            }
            _ => false,
        }
    }

    /// Number of values that the value consists of, itself and names of fields included.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::List(Elements(slice)) | Self::Object(Closed(slice)) => scan::count_values(slice.json),
            _ => 1,
        }
    }
}

impl<'a> Text<'a> {
    /// Whether the string, with escapes resolved, is `text`.
    pub(super) fn is(self, text: &str) -> bool {
        let json = self.0.json;
        let inside = &json[1..json.len() - 1];
        if inside.contains('\\') {
            serde_json::from_str::<String>(json).is_ok_and(|resolved| resolved == text)
        } else {
            inside == text
        }
    }

    /// The text with escapes resolved. A text with escapes is resolved, and laid out in the arena,
    /// at every call: call it once.
    pub(crate) fn get(self) -> &'a str {
        let Slice { json, document } = self.0;
        let inside = &json[1..json.len() - 1];
        if !inside.contains('\\') {
            return inside;
        }
        let text: String = serde_json::from_str(json).expect("the whole body has been checked");
        document.arena.alloc_str(&text)
    }
}

impl<'a> Elements<'a> {
    /// An empty list.
    pub(super) fn empty(document: &'a Document) -> Self {
        Self(Slice { json: "[]", document })
    }

    /// The list's elements.
    pub(crate) fn iter(self) -> impl Iterator<Item = Value<'a>> + Clone {
        let Slice { json, document } = self.0;
        Values::inside(json).map(|json| Value::new(json, document))
    }

    /// Whether the list has more than `count` elements; it parses at most `count` + 1.
    pub(crate) fn is_longer_than(self, count: usize) -> bool {
        self.iter().nth(count).is_some()
    }

    /// Whether the list is empty.
    pub(crate) fn is_empty(self) -> bool {
        !self.is_longer_than(0)
    }

    /// Number of elements. Parses all of them.
    pub(crate) fn len(self) -> usize {
        self.iter().count()
    }
}

impl<'a> Closed<'a> {
    /// The document that the object belongs to.
    pub(super) fn document(self) -> &'a Document {
        self.0.document
    }

    /// Lays out the object's fields in the arena, after it has counted them against the document's
    /// bound.
    pub(super) fn lay_out(self, path: Path<'_>) -> Result<&'a [(&'a str, Value<'a>)], ApiError> {
        let document = self.0.document;
        let mut fields = Vec::with_capacity(FEW_FIELDS);
        for (key, value) in self.fields() {
            document.count_fields(1, path)?;
            fields.push((key.get(), value));
        }
        let fields = document.arena.alloc_slice_copy(&fields);
        document.note_repeated(fields, path);
        Ok(fields)
    }

    /// The object's fields as they are written; a repeated name comes as often as it is written.
    pub(super) fn fields(self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> {
        let Slice { json, document } = self.0;
        let mut values = Values::inside(json);
        std::iter::from_fn(move || {
            let key = Text(Slice { json: values.next()?, document });
            Some((key, Value::new(values.next()?, document)))
        })
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.type_name())
    }
}

impl Path<'_> {
    /// 400: the value has the wrong type.
    pub(crate) fn expected(&self, what: &str, got: Value<'_>) -> ApiError {
        self.invalid(format_args!("expected {what}, got {}", got.type_name())).with_code("invalid_type")
    }
}
