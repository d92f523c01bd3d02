//! Reader of a function's name and arguments, as `tool_calls` and the older `function_call` both have them.

use super::super::error::ApiError;
use super::super::json::{Object, Value};
use model::prompt::HistoryCall;

/// Name and arguments of a call of a function.
pub(super) fn function_call(function: Object<'_>, id: String) -> Result<HistoryCall, ApiError> {
    let arguments = match function.get("arguments") {
        None => String::new(),
        Some(Value::String(text)) => text.get().to_owned(),
        Some(object @ Value::Object(_)) => object.to_json().into_string(),
        Some(other) => return Err(function.at("arguments").expected("a string of JSON", other)),
    };
    Ok(HistoryCall { id, name: function.required_string("name")?.to_owned(), arguments })
}
