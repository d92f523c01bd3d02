//! Fields of a request as a user types them: `KEY=VALUE`, where dots in KEY lead into objects, and
//! VALUE is JSON, or else a text.

use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};
use system::bounded::{self, SETTINGS_BYTES};

/// A field's path and its value; null removes it.
pub(in crate::cli) type Field = (String, Value);

/// Fields that the commands set themselves.
const FIXED: [&str; 5] = ["model", "input", "stream", "background", "store"];

/// Parses `KEY=VALUE`.
pub(in crate::cli) fn field(text: &str) -> Result<Field, String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    if key.split('.').any(str::is_empty) {
        return Err(format!("{key:?} is no name of a field"));
    }
    if is_fixed(key) {
        return Err(format!("{key} is set by this command"));
    }
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.to_owned(), value))
}

pub(in crate::cli) fn is_fixed(key: &str) -> bool {
    FIXED.contains(&key.split('.').next().unwrap_or_default())
}

/// Sets a field in a body. What isn't an object on the way is replaced by one.
pub(in crate::cli) fn set(body: &mut Map<String, Value>, (key, value): &Field) {
    match key.split_once('.') {
        None if value.is_null() => {
            body.shift_remove(key);
        }
        None => {
            body.insert(key.clone(), value.clone());
        }
        Some((first, rest)) => {
            let inner = body.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if !inner.is_object() {
                *inner = Value::Object(Map::new());
            }
            if let Value::Object(inner) = inner {
                set(inner, &(rest.to_owned(), value.clone()));
            }
        }
    }
}

/// Reads a file of JSON that a user names.
///
/// # Errors
/// It can't be read, or is no JSON.
pub(in crate::cli) fn json_file(path: &Path) -> anyhow::Result<Value> {
    let place = || path.display().to_string();
    let text = bounded::text(path, SETTINGS_BYTES).with_context(place)?;
    serde_json::from_str(&text).context("no JSON").with_context(place)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_json_or_else_text_and_dots_lead_inside() {
        let mut body = Map::new();
        for text in
            ["seed=7", "reasoning.effort=low", "text.format={\"type\": \"text\"}", "user=a=b", "x=\"7\""]
        {
            set(&mut body, &field(text).unwrap());
        }
        let expected = json!({"seed": 7, "reasoning": {"effort": "low"}, "text": {"format": {"type": "text"}},
            "user": "a=b", "x": "7"});
        assert_eq!(Value::Object(body.clone()), expected);
        set(&mut body, &field("seed=null").unwrap());
        set(&mut body, &field("user.id=1").unwrap());
        assert_eq!((body.get("seed"), &body["user"]), (None, &json!({"id": 1})));
    }

    #[test]
    fn what_is_no_field_or_not_the_users_is_refused() {
        for text in ["seed", "=1", "a..b=1", ".a=1", "stream=false", "model=x", "input.x=1"] {
            assert!(field(text).is_err(), "{text}");
        }
    }
}
