//! Check of the names of declared tools: those that OpenAI's API takes, and those with the dots and colons that other clients use.

use super::super::error::ApiError;
use super::super::fields;
use super::super::json::Object;

/// Most characters of a name.
const LONGEST: usize = 128;

/// Refuses an invalid name. `name` is the one that the model sees for `tool`; in a namespace it begins with the namespace's name.
pub(super) fn check(name: &str, tool: &Object<'_>) -> Result<(), ApiError> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
    if plain && (1..=LONGEST).contains(&name.len()) {
        return Ok(());
    }
    Err(tool.at(fields::NAME).invalid(format_args!(
        "expected a tool's name of 1 to {LONGEST} characters out of A-Z, a-z, 0-9, `_`, `.`, `:` and `-`"
    )))
}
