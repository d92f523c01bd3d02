//! Names of tools that a request declares: those that OpenAI's API takes, with the dots and colons that other clients use.

use super::super::error::ApiError;
use super::super::json::Object;

/// Characters that a name may have.
const LONGEST: usize = 128;

/// Refuses what is no name; `name` is the one that the model sees of `tool`, in a namespace with the namespace's name before it.
pub(super) fn check(name: &str, tool: &Object<'_>) -> Result<(), ApiError> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
    if plain && (1..=LONGEST).contains(&name.len()) {
        return Ok(());
    }
    Err(tool.at("name").invalid(format_args!(
        "expected a tool's name of 1 to {LONGEST} characters out of A-Z, a-z, 0-9, `_`, `.`, `:` and `-`"
    )))
}
