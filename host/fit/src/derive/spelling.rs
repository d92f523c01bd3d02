//! How values are spelt: as JSON, or as Python prints them.

use serde_json::Value;

use crate::probes::python;

/// The value at the beginning of `text`, and its length, if it is JSON.
pub(super) fn json_at(text: &str) -> Option<(Value, usize)> {
    if text.starts_with(char::is_whitespace) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    Some((value, values.byte_offset()))
}

/// Length of `value` at the beginning of `text`, as JSON or as Python prints it.
pub(super) fn value_at(text: &str, value: &Value) -> Option<usize> {
    match json_at(text) {
        Some((found, bytes)) if found == *value => Some(bytes),
        _ => {
            let spellings = [value.to_string(), python(value)];
            spellings.iter().find(|spelt| text.starts_with(&***spelt)).map(String::len)
        }
    }
}

/// The last place of `text` with this value, which is no string: its beginning and end. Before it
/// an attribute may spell the same word (`string="false">false`).
pub(super) fn find_value(text: &str, value: &Value) -> Option<(usize, usize)> {
    let mut places = text.char_indices().map(|(at, _)| at).rev();
    places.find_map(|at| value_at(&text[at..], value).map(|bytes| (at, at + bytes)))
}
