//! Reader of JSON as Python's `json.loads` reads it: integers of any length, floats beyond `f64` as
//! infinity, `-0` as 0.

use std::sync::Arc;

use actson::feeder::SliceJsonFeeder;
use actson::{JsonEvent, JsonParser};
use indexmap::IndexMap;
use serde::de::IgnoredAny;

use crate::error::{Error, Result};
use crate::number::parse_digits;
use crate::text::Origin;
use crate::value::{Dict, Key, MAX_DEPTH, Value};

/// A list or an object that isn't closed yet.
enum Open {
    List(Vec<Value>),
    /// Entries, and the key that waits for its value.
    Dict(IndexMap<Key, Value>, Option<Key>),
}

impl Value {
    /// Reads JSON text. Its strings, and the keys of its objects, are of `origin`.
    ///
    /// # Errors
    /// It isn't JSON, or is nested too deeply.
    pub fn from_json(json: &str, origin: Origin) -> std::result::Result<Self, Error> {
        let invalid = || Error::runtime("not valid JSON");
        serde_json::from_str::<IgnoredAny>(json)
            .map_err(|error| Error::runtime(format!("not valid JSON: {error}")))?;
        let mut parser = JsonParser::new(SliceJsonFeeder::new(json.as_bytes()));
        let mut open: Vec<Open> = Vec::new();
        let mut whole = None;
        while let Some(event) = parser.next_event().map_err(|_| invalid())? {
            let value = match event {
                JsonEvent::NeedMoreInput => return Err(invalid()),
                JsonEvent::StartObject | JsonEvent::StartArray => {
                    if open.len() == usize::from(MAX_DEPTH) {
                        return Err(Error::runtime(format!("JSON is nested more than {MAX_DEPTH} deep")));
                    }
                    open.push(match event {
                        JsonEvent::StartArray => Open::List(Vec::new()),
                        _ => Open::Dict(IndexMap::new(), None),
                    });
                    continue;
                }
                JsonEvent::EndObject | JsonEvent::EndArray => close(open.pop().ok_or_else(invalid)?)?,
                JsonEvent::FieldName => {
                    let name = Self::text(origin, parser.current_str().map_err(|_| invalid())?);
                    if let Some(Open::Dict(_, key)) = open.last_mut() {
                        *key = Some(Key(name));
                    }
                    continue;
                }
                JsonEvent::ValueString => Self::text(origin, parser.current_str().map_err(|_| invalid())?),
                JsonEvent::ValueInt => integer(parser.current_str().map_err(|_| invalid())?),
                JsonEvent::ValueFloat => {
                    Self::Float(parser.current_str().map_err(|_| invalid())?.parse().map_err(|_| invalid())?)
                }
                JsonEvent::ValueTrue => Self::Bool(true),
                JsonEvent::ValueFalse => Self::Bool(false),
                JsonEvent::ValueNull => Self::None,
            };
            match open.last_mut() {
                None => whole = Some(value),
                Some(Open::List(items)) => items.push(value),
                Some(Open::Dict(entries, key)) => {
                    entries.insert(key.take().ok_or_else(invalid)?, value);
                }
            }
        }
        whole.ok_or_else(invalid)
    }
}

fn close(open: Open) -> Result<Value> {
    match open {
        Open::List(items) => Value::list(items),
        Open::Dict(entries, _) => Ok(Value::Dict(Arc::new(Dict::new(entries)?))),
    }
}

fn integer(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(number) => Value::Int(number),
        Err(_) => parse_digits(text, 10)
            .map_or_else(|| Value::Float(text.parse().unwrap_or(f64::INFINITY)), Value::integer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_pythons() {
        let json = "[-0, 123456789012345678901234567890, 1e999, -0.0, 1.5]";
        let value = Value::from_json(json, Origin::Request).unwrap();
        let shown = crate::print::repr(&value, &|_| Ok(None), 1000).unwrap();
        assert_eq!(shown.as_str(), "[0, 123456789012345678901234567890, inf, -0.0, 1.5]");
    }

    #[test]
    fn broken_json_is_refused() {
        for json in ["", "[", "{\"a\"}", "[1,]", "1 2", "nul", "{\"a\":1", "\"a"] {
            assert!(Value::from_json(json, Origin::Request).is_err(), "{json}");
        }
        let deep = "[".repeat(300) + &"]".repeat(300);
        assert!(Value::from_json(&deep, Origin::Request).is_err());
    }
}
