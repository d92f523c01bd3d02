//! Request bodies: JSON that is checked whole once and then read in place. Typed access has errors that name the path, the expected type
//! and the actual one. `null` counts as absent everywhere.
//!
//! Only what a reader asks for is built: values are slices of the body's text, and the document's arena holds only the fields of
//! objects that were opened, and strings with escapes. The number of those fields is bounded, so a body never costs much more memory
//! than its own size, whatever it consists of.

mod document;
mod object;
mod path;
mod scan;
mod value;

use serde_json::value::RawValue;

pub(crate) use document::{Document, Repeated};
pub(crate) use object::Object;
pub(crate) use path::Path;
pub(crate) use value::{List, Text, Value};

use super::error::ApiError;
#[cfg(test)]
use crate::limits::Limits;

impl Document {
    /// Reads a body, which must be one JSON object.
    ///
    /// # Errors
    /// 400 where the body is no JSON, nests deeper than allowed, or is no object.
    pub(crate) fn read<'a>(&'a self, body: &'a [u8]) -> Result<Object<'a>, ApiError> {
        let not_json = |error: &dyn std::fmt::Display| {
            ApiError::invalid(None, format!("body: not valid JSON: {error}")).with_code("invalid_json")
        };
        if scan::nests_deeper(body, self.max_depth) {
            let message = format!("body: JSON is nested deeper than {} levels", self.max_depth);
            return Err(ApiError::invalid(None, message).with_code("invalid_json"));
        }
        let text = serde_json::from_slice::<&RawValue>(body).map_err(|error| not_json(&error))?.get();
        if let Some(at) = scan::lone_surrogate(text) {
            return Err(not_json(&format_args!("half of a surrogate pair at byte {at}")));
        }
        match Value::new(text, self) {
            value @ Value::Object(_) => Object::new(value, Path::Body),
            other => Err(Path::Body.expected("a JSON object", other)),
        }
    }
}

/// Calls `read` with `value` as a reader of requests sees it.
#[cfg(test)]
pub(crate) fn with_value<T>(value: &serde_json::Value, read: impl FnOnce(Value<'_>) -> T) -> T {
    let document = Document::new(&Limits::default());
    read(Value::new(&value.to_string(), &document))
}

#[cfg(test)]
mod tests;
