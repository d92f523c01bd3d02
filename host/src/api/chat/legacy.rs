//! Calls as Chat Completions had them before `tool_calls`: `function_call` of an assistant message, and its result in a message of
//! the role `function`. They have no ids; each call gets one, and a result belongs to the last call of its name.

use super::super::error::ApiError;
use super::super::history::History;
use super::super::json::Object;
use super::fields;
use super::function_call::function_call;
use crate::prompt::{Content, HistoryCall};

/// The call of an assistant message, if it has one.
pub(super) fn call(message: Object<'_>, history: &History) -> Result<Option<HistoryCall>, ApiError> {
    let Some(function) = message.get(fields::FUNCTION_CALL)? else { return Ok(None) };
    function_call(function, format!("call_{}", history.len())).map(Some)
}

/// The result of a call.
pub(super) fn result(message: Object<'_>, content: Content, history: &mut History) -> Result<(), ApiError> {
    let name = message.get(fields::TOOL)?;
    let id = match message.get(fields::CALL_ID)? {
        Some(id) => Some(id.to_owned()),
        None => name.and_then(|name| history.last_call(name)).map(str::to_owned),
    };
    history.result(id.as_deref(), name, content);
    Ok(())
}
