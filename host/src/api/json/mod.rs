//! Request bodies: JSON that is checked whole once and then read where it stands, with typed access whose errors name the path, what
//! was expected and what came. `null` counts as absent everywhere.
//!
//! Nothing is built of a body but what a reader asks for: values are slices of its text, and only the fields of the objects that are
//! opened, and strings with escapes, are laid out in the document's arena. The number of those fields is bounded, so a body never
//! costs much more memory than its own size, whatever it consists of.

mod object;
mod path;
mod scan;
mod value;

use std::cell::Cell;

use bumpalo::Bump;
use serde_json::value::RawValue;

pub(crate) use object::Object;
pub(crate) use path::Path;
pub(crate) use value::{List, Text, Value};

use super::error::ApiError;
use crate::limits::Limits;

/// Owner of what is laid out of a body while it is read.
pub(crate) struct Document {
    arena: Bump,
    /// Fields that may yet be read.
    fields_left: Cell<usize>,
    max_fields: usize,
    max_depth: usize,
}

impl Document {
    /// For one body.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            arena: Bump::new(),
            fields_left: Cell::new(limits.json_fields),
            max_fields: limits.json_fields,
            max_depth: limits.json_depth,
        }
    }

    /// Reads a body, which must be one JSON object.
    ///
    /// # Errors
    /// 400 where it is no JSON, nests deeper than allowed, or is another value.
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

    fn empty_list(&self) -> List<'_> {
        List::empty(self)
    }

    /// Counts fields about to be laid out.
    fn count_fields(&self, count: usize, path: Path<'_>) -> Result<(), ApiError> {
        let left = self.fields_left.get().checked_sub(count).ok_or_else(|| {
            path.invalid(format_args!(
                "with this the request has more than {} fields to read, schemas apart",
                self.max_fields
            ))
        })?;
        self.fields_left.set(left);
        Ok(())
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").finish_non_exhaustive()
    }
}

/// What `read` makes of a value.
#[cfg(test)]
pub(crate) fn with_value<T>(value: &serde_json::Value, read: impl FnOnce(Value<'_>) -> T) -> T {
    let document = Document::new(&Limits::default());
    read(Value::new(&value.to_string(), &document))
}

#[cfg(test)]
mod tests;
