//! One value of a call's arguments: its text becomes JSON, as it comes or at its end.

use crate::values::{Coerced, coerce, is_list_alone, may_be_typed};
use contract::json_text::{escape, white};
use contract::{Reading, Types};

/// Longest text, in bytes, that waits because it may be the first item of a list.
const ITEM: usize = 64;

/// An open value.
#[derive(Debug)]
pub(super) enum Value {
    /// A value that isn't written.
    LeftOut,
    /// Plain text.
    Raw,
    /// A string, whose quote is written.
    Text,
    /// A value that may be something else than a string: its text so far, and the first byte of it
    /// that isn't white space.
    Waiting { types: Types, reading: Reading, text: String, first: Option<u8> },
}

impl Value {
    /// Begins a value of these types.
    pub(super) fn begin(types: Types, reading: Reading) -> Self {
        let types = if reading == Reading::Text { Types::STRING } else { types };
        Self::Waiting { types, reading, text: String::new(), first: None }
    }

    /// Whether there is no text but white space, and nothing was written.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, Self::Waiting { first: None, .. })
    }

    /// Number of bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        match self {
            Self::Waiting { text, .. } => text.len(),
            Self::LeftOut | Self::Raw | Self::Text => 0,
        }
    }

    /// The text of a value that has ended and isn't what the schema has at its place, a list: it may
    /// be the first item.
    pub(super) fn item(&self) -> Option<&str> {
        match self {
            Self::Waiting { types, reading: Reading::Declared, text, .. }
                if is_list_alone(*types) && coerce(text, *types) == Coerced::Text =>
            {
                Some(text)
            }
            _ => None,
        }
    }

    /// Takes more text.
    pub(super) fn text(&mut self, more: &str, out: &mut String) {
        match self {
            Self::LeftOut => {}
            Self::Raw => out.push_str(more),
            Self::Text => escape(more, out),
            Self::Waiting { types, reading, text, first } => {
                text.push_str(more);
                *first = first.or_else(|| more.bytes().find(|byte| !white(char::from(*byte))));
                if *reading == Reading::Declared && is_list_alone(*types) && text.len() <= ITEM {
                    return;
                }
                let is_json = *reading == Reading::Json;
                let may_be_json = is_json && (*first == Some(b'"') || may_be_typed(*first, text, Types::ANY));
                if !may_be_json && !may_be_typed(*first, text, *types) {
                    out.push('"');
                    escape(text, out);
                    *self = Self::Text;
                }
            }
        }
    }

    /// Ends the value.
    pub(super) fn end(self, out: &mut String) {
        match self {
            Self::LeftOut | Self::Raw => {}
            Self::Text => out.push('"'),
            Self::Waiting { types, reading, text, .. } => {
                let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
                let coerced = if reading == Reading::Json && is_json() {
                    Coerced::Verbatim
                } else {
                    coerce(&text, types)
                };
                write(&text, coerced, out);
            }
        }
    }
}

/// Writes a whole value that may have these types.
pub(super) fn write_typed(text: &str, types: Types, out: &mut String) {
    write(text, coerce(text, types), out);
}

fn write(text: &str, coerced: Coerced, out: &mut String) {
    match coerced {
        Coerced::Verbatim => out.push_str(text.trim_matches(white)),
        Coerced::As(json) => out.push_str(&json),
        Coerced::Text => {
            out.push('"');
            escape(text, out);
            out.push('"');
        }
    }
}
