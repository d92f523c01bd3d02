//! Reader of `metadata`: names and texts of the client's own, which are kept and repeated.

use serde_json::{Map, Value as Json};

use super::error::ApiError;
use super::fields::{Shape, Tables};
use super::json::{Field, JsonObject, Path, Value};
use super::warnings::Warnings;

/// Longest key and value, in characters.
const KEY: usize = 64;
const VALUE: usize = 512;

/// The field, in tables of requests.
pub(crate) const METADATA: Field<JsonObject<'_>> =
    Field::new("metadata", "repeated in the answer; at most 16 keys of 64 characters, values of 512")
        .of(Shape::Map(&Shape::Text));

/// The field, in tables of requests that replace what is stored.
pub(crate) const REPLACED: Field<JsonObject<'_>> =
    METADATA.note("replaces the metadata, null removes it; it must be given");

/// The new metadata in a body of [`REPLACED`] alone, and warnings. `null` stands for none; but a
/// body that has no such field is a mistake that would delete it.
///
/// # Errors
/// 400 where the field is missing, and as [`read`].
pub(crate) fn replacement(
    body: &JsonObject<'_>,
    tables: Tables,
    max: usize,
) -> Result<(Map<String, Json>, Vec<String>), ApiError> {
    if !body.fields().any(|(name, _)| name == REPLACED.row().name) {
        return Err(body.at(REPLACED).missing("an object, or null"));
    }
    let warnings = Warnings::of_fields(body, tables)?;
    Ok((read(body, max)?, warnings.into_lines()))
}

/// The metadata in `body`, at most `max` keys; empty if there is none.
///
/// # Errors
/// 400 where it is no object, has too many keys, or a key or value is too long or no text.
pub(crate) fn read(body: &JsonObject<'_>, max: usize) -> Result<Map<String, Json>, ApiError> {
    let Some(metadata) = body.get(METADATA)? else { return Ok(Map::new()) };
    if metadata.len() > max {
        let count = metadata.len();
        return Err(metadata.path.invalid(format_args!("at most {max} keys, got {count}")));
    }
    metadata.fields().map(|(key, value)| entry(key, value, metadata.path.field(key))).collect()
}

fn entry(key: &str, value: Value<'_>, path: Path<'_>) -> Result<(String, Json), ApiError> {
    let text = value.as_str().ok_or_else(|| path.expected("a string", value))?;
    if key.chars().count() > KEY {
        return Err(path.invalid(format_args!("a key has at most {KEY} characters")));
    }
    if text.chars().count() > VALUE {
        return Err(path.invalid(format_args!("a value has at most {VALUE} characters")));
    }
    path.without_nul(key)?;
    Ok((key.to_owned(), path.without_nul(text)?.into()))
}
