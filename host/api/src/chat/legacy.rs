//! Reader of called functions, and of calls as Chat Completions had them before `tool_calls`:
//! `function_call` of an assistant message, and its result in a message of the role `function`.
//! They have no ids; each call gets one, and a result belongs to the last call of its name.

use super::fields;
use crate::error::ApiError;
use crate::history::History;
use crate::json::{JsonObject, Value};
use prompt::{Content, HistoryCall};

/// Name and arguments of a call of a function.
pub(super) fn function_call(function: JsonObject<'_>, id: String) -> Result<HistoryCall, ApiError> {
    let arguments = match function.value(fields::ARGUMENTS) {
        None => String::new(),
        Some(Value::String(text)) => text.get().to_owned(),
        Some(object @ Value::Object(_)) => object.to_json().into_string(),
        Some(other) => return Err(function.at(fields::ARGUMENTS).expected("a string of JSON", other)),
    };
    Ok(HistoryCall { id, name: function.require(fields::NAME)?.to_owned(), arguments })
}

/// The call of an assistant message, if it has one.
pub(super) fn call(message: JsonObject<'_>, history: &History) -> Result<Option<HistoryCall>, ApiError> {
    let Some(function) = message.get(fields::FUNCTION_CALL)? else { return Ok(None) };
    function_call(function, format!("call_{}", history.len())).map(Some)
}

/// The result of a call.
pub(super) fn result(
    message: JsonObject<'_>,
    content: Content,
    history: &mut History,
) -> Result<(), ApiError> {
    let name = message.get(fields::TOOL)?;
    let id = match message.get(fields::CALL_ID)? {
        Some(id) => Some(id.to_owned()),
        None => name.and_then(|name| history.last_call(name)).map(str::to_owned),
    };
    history.result(id.as_deref(), name, content);
    Ok(())
}
