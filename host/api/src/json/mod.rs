//! Request bodies: JSON that is checked whole once and then read in place. Typed access has errors
//! that name the path, the expected type and the actual one. `null` counts as absent everywhere.
//!
//! Only what a reader asks for is built: values are slices of the body's text, and the document's
//! arena holds only the fields of objects that were opened, and strings with escapes. The number of
//! those fields is bounded, so a body never costs much more memory than its own size, whatever it
//! consists of.

mod body;
mod document;
mod field;
mod list;
mod object;
mod path;
mod scan;
mod value;

pub use document::Document;
pub(crate) use document::Repeated;
pub(crate) use field::{Field, Id, OneOf, Required, Typed, UpTo};
pub(crate) use list::List;
pub use object::JsonObject;
pub(crate) use path::Path;
pub(crate) use value::{Elements, Text, Value};

#[cfg(test)]
use super::warnings::Warnings;
#[cfg(test)]
use crate::limits::RequestLimits;

/// Calls `read` with `value` as a reader of requests sees it.
#[cfg(test)]
pub(crate) fn with_value<T>(value: &serde_json::Value, read: impl FnOnce(Value<'_>) -> T) -> T {
    let document = Document::new(bytes::Bytes::new(), &RequestLimits::default());
    read(Value::new(&value.to_string(), &document))
}

/// Calls `read` with `content` as a reader of the body's field of that name sees it. Returns what
/// was read, and the warnings.
#[cfg(test)]
pub(crate) fn with_content<T, E: std::fmt::Debug>(
    content: &serde_json::Value,
    read: impl FnOnce(Value<'_>, Path<'_>, &mut Warnings) -> Result<T, E>,
) -> (T, Vec<String>) {
    let mut warnings = Warnings::default();
    let content = with_value(content, |content| read(content, Path::Body.field("content"), &mut warnings));
    (content.unwrap(), warnings.into_lines())
}

/// The refusal of `content`, read in the same way.
#[cfg(test)]
pub(crate) fn refusal_of_content<T: std::fmt::Debug, E: std::fmt::Debug>(
    content: &serde_json::Value,
    read: impl FnOnce(Value<'_>, Path<'_>, &mut Warnings) -> Result<T, E>,
) -> E {
    let mut warnings = Warnings::default();
    with_value(content, |content| read(content, Path::Body.field("content"), &mut warnings)).unwrap_err()
}

#[cfg(test)]
mod tests;
