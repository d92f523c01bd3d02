//! Places in a turn where something of the probe stands, and the text between two of them.

use serde_json::Value;

/// Stands for the digits of a counter in a [`Joint`]'s text.
pub(super) const COUNTER: char = '\u{f8ff}';

/// A place of a turn that has something of the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Point {
    /// The turn's beginning, behind the header of the message.
    Start,
    Reasoning,
    Text,
    Name,
    /// Id of a call.
    Id,
    /// All arguments, as JSON.
    Arguments,
    Key,
    /// Value of a parameter.
    Value(Type),
    End,
}

/// JSON's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Type {
    String,
    Number,
    Bool,
    Object,
    Array,
    Null,
}

impl Type {
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::String(_) => Self::String,
            Value::Number(_) => Self::Number,
            Value::Bool(_) => Self::Bool,
            Value::Object(_) => Self::Object,
            Value::Array(_) => Self::Array,
            Value::Null => Self::Null,
        }
    }
}

impl Point {
    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Start => "the turn's beginning",
            Self::Reasoning => "reasoning",
            Self::Text => "text",
            Self::Name => "a tool's name",
            Self::Id => "a call's id",
            Self::Arguments => "arguments",
            Self::Key => "a parameter's key",
            Self::Value(_) => "a parameter's value",
            Self::End => "the turn's end",
        }
    }

    /// Whether it belongs to a call.
    pub(super) fn is_in_call(self) -> bool {
        !matches!(self, Self::Start | Self::Reasoning | Self::Text | Self::End)
    }
}
