//! Access to the fields of events, with checks of presence and type.

use serde_json::{Map, Value};

use super::{Fault, Rule};

/// Type of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldType {
    Text,
    OptionalText,
    Count,
    Number,
    OptionalNumber,
    Bool,
    OptionalBool,
    List,
    Object,
    OptionalObject,
    /// Anything but null.
    Some,
    /// Anything, null too. The field must be present.
    Any,
}

impl FieldType {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::OptionalText => value.is_string() || value.is_null(),
            Self::Count => value.is_u64(),
            Self::Number => value.is_number(),
            Self::OptionalNumber => value.is_number() || value.is_null(),
            Self::Bool => value.is_boolean(),
            Self::OptionalBool => value.is_boolean() || value.is_null(),
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
            Self::OptionalObject => value.is_object() || value.is_null(),
            Self::Some => !value.is_null(),
            Self::Any => true,
        }
    }
}

/// An object of an event, with access that checks types.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedObject<'a> {
    /// The object's fields.
    pub(super) map: &'a Map<String, Value>,
    name: &'a str,
}

impl<'a> CheckedObject<'a> {
    /// The object `value`, which messages call `name`.
    pub(super) fn new(value: &'a Value, name: &'a str) -> Result<Self, Fault> {
        let map =
            value.as_object().ok_or_else(|| Fault::new(Rule::Fields, format!("{name} is not an object")))?;
        Ok(Self { map, name })
    }

    /// Checks that all of `fields` are present and have their type. The fault names all that
    /// aren't.
    pub(super) fn require(&self, fields: &[(&str, FieldType)]) -> Result<(), Fault> {
        let wrong = fields.iter().filter_map(|(field, kind)| match self.map.get(*field) {
            Some(value) if kind.fits(value) => None,
            Some(_) => Some(format!("{}.{field} has the wrong type, expected {kind:?}", self.name)),
            None => Some(format!("{}.{field} is missing, expected {kind:?}", self.name)),
        });
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() { Ok(()) } else { Err(Fault::new(Rule::Fields, wrong.join("; "))) }
    }

    /// The value of `field`; null if it is missing.
    pub(super) fn value(&self, field: &str) -> &'a Value {
        self.map.get(field).unwrap_or(&Value::Null)
    }

    /// The text in `field`.
    pub(super) fn text(&self, field: &str) -> Result<&'a str, Fault> {
        let text = self.map.get(field).and_then(Value::as_str);
        text.ok_or_else(|| self.fault(field, format_args!("is not a text")))
    }

    /// The list in `field`.
    pub(super) fn list(&self, field: &str) -> Result<&'a Vec<Value>, Fault> {
        let list = self.map.get(field).and_then(Value::as_array);
        list.ok_or_else(|| self.fault(field, format_args!("is not a list")))
    }

    /// The index or count in `field`.
    pub(super) fn index(&self, field: &str) -> Result<usize, Fault> {
        let index = self.map.get(field).and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        index.ok_or_else(|| self.fault(field, format_args!("is not an index")))
    }

    /// The object in `field`.
    pub(super) fn object(&self, field: &'a str) -> Result<Self, Fault> {
        Self::new(self.value(field), field)
    }

    fn fault(&self, field: &str, what: std::fmt::Arguments<'_>) -> Fault {
        Fault::new(Rule::Fields, format!("{}.{field} {what}", self.name))
    }
}
