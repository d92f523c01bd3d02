//! What a search of the web found, in the text of a tool: results with an address as JSON, in a list,
//! in the list `results` of an object (`result`, as Python's servers call a list), or one after the
//! other.

use serde_json::Value;

/// A result that says where it was found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WebResult {
    /// Its address.
    pub(crate) url: String,
    /// All that the tool says of it.
    pub(crate) entry: Value,
}

impl WebResult {
    /// The results in a tool's text; `None` where it holds anything else.
    pub(crate) fn all(text: &str) -> Option<Vec<Self>> {
        let values: Vec<Value> =
            serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().ok()?;
        if values.is_empty() {
            return None;
        }
        values.into_iter().flat_map(entries).map(Self::of).collect()
    }

    fn of(entry: Value) -> Option<Self> {
        let url = ["url", "link"].iter().find_map(|name| entry[*name].as_str()).map(str::to_owned)?;
        Some(Self { url, entry })
    }

    /// A text that the tool says of it.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.entry[name].as_str().map(str::to_owned)
    }
}

fn entries(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        Value::Object(mut object) => {
            let mut lists = ["results", "result"].into_iter().filter_map(|name| object.remove(name));
            match lists.next() {
                Some(Value::Array(list)) => list,
                Some(other) => vec![other],
                None => vec![Value::Object(object)],
            }
        }
        other => vec![other],
    }
}
