//! Reader of a function's name and arguments, as `tool_calls` and the older `function_call` both have them.

use super::super::error::ApiError;
use super::super::json::{Field, Object, Value};
use super::fields;
use crate::prompt::HistoryCall;

const ARGUMENTS: Field<Value<'_>> = Field::new("arguments", "");

/// Name and arguments of a call of a function.
pub(super) fn function_call(function: Object<'_>, id: String) -> Result<HistoryCall, ApiError> {
    let arguments = match function.value(ARGUMENTS) {
        None => String::new(),
        Some(Value::String(text)) => text.get().to_owned(),
        Some(object @ Value::Object(_)) => object.to_json().into_string(),
        Some(other) => return Err(function.at(ARGUMENTS).expected("a string of JSON", other)),
    };
    Ok(HistoryCall { id, name: function.require(fields::NAME)?.to_owned(), arguments })
}
