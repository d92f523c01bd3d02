//! Reader of the items of earlier calls of typed tools: the model sees each call as it would write
//! it, and its result as text.

use super::{PATHS, TypedTool};
use crate::agent::NOTHING_FOUND;
use crate::error::ApiError;
use crate::json::{Field, JsonObject, List, Required, Value};
use crate::raw;
use crate::responses::fields::{
    self, ACTION, CALL_RESULT, OPERATION, PATCH_OUTPUT, PATCH_STATUS, SEARCH_ARGUMENTS,
};
use crate::responses::tools::found;

/// What a command printed, and how it ended.
const STDOUT: Field<&str> = Field::new("stdout", "");
const STDERR: Field<&str> = Field::new("stderr", "");
const OUTCOME: Field<JsonObject<'_>> = Field::new("outcome", "");
const EXIT_CODE: Required<Value<'_>> = Field::new("exit_code", "").required_as("a number");

/// What the model wrote to call the tool.
pub(in crate::responses) fn arguments(tool: TypedTool, item: JsonObject<'_>) -> Result<String, ApiError> {
    match tool {
        TypedTool::Shell | TypedTool::LocalShell => Ok(written(item.require(ACTION)?)),
        // Its type is the operation's, and the model writes that.
        TypedTool::ApplyPatch => Ok(item.require(OPERATION)?.to_json().into_string()),
        TypedTool::ToolSearch => match item.require(SEARCH_ARGUMENTS)? {
            Value::String(text) => Ok(text.get().to_owned()),
            arguments @ Value::Object(_) => {
                Ok(without_paths(JsonObject::new(arguments, item.at(SEARCH_ARGUMENTS))?))
            }
            arguments => Ok(arguments.to_json().into_string()),
        },
    }
}

/// What the model wrote of a search's arguments, if anything.
fn without_paths(arguments: JsonObject<'_>) -> String {
    let own = |(name, _): &(&str, Value<'_>)| *name != PATHS;
    let written: Vec<_> = arguments.fields().filter(own).collect();
    let shown = if written.is_empty() { arguments.fields().collect() } else { written };
    raw::object(shown.into_iter().map(|(name, value)| (name, value.to_json()))).into_string()
}

/// The fields that say something, without the action's type: `env` is always there.
fn written(action: JsonObject<'_>) -> String {
    let is_empty =
        |value: Value<'_>| value.is_null() || (matches!(value, Value::Object(_)) && value.count() == 1);
    let says = |(name, value): &(&str, Value<'_>)| *name != fields::TYPE.row().name && !is_empty(*value);
    raw::object(action.fields().filter(says).map(|(name, value)| (name, value.to_json()))).into_string()
}

/// The result as the model sees it.
pub(in crate::responses) fn result(tool: TypedTool, item: JsonObject<'_>) -> Result<String, ApiError> {
    match tool {
        TypedTool::Shell => printed(item),
        TypedTool::LocalShell => match item.require(CALL_RESULT)? {
            Value::String(text) => Ok(text.get().to_owned()),
            other => Ok(other.to_json().into_string()),
        },
        TypedTool::ApplyPatch => {
            let status = item.require(PATCH_STATUS)?;
            let output = item.get(PATCH_OUTPUT)?.filter(|output| !output.is_empty());
            Ok(match (status, output) {
                ("failed", Some(output)) => format!("Error: {output}"),
                (_, Some(output)) => output.to_owned(),
                (status, None) => status.to_owned(),
            })
        }
        TypedTool::ToolSearch => {
            let declarations = found(item)?;
            Ok(if declarations.is_empty() { NOTHING_FOUND.to_owned() } else { declarations.join("\n") })
        }
    }
}

/// The output of shell commands, one behind the other.
fn printed(item: JsonObject<'_>) -> Result<String, ApiError> {
    let path = item.at(CALL_RESULT);
    let chunks = match item.require(CALL_RESULT)? {
        Value::String(text) => return Ok(text.get().to_owned()),
        Value::List(chunks) => List::new(chunks, path),
        other => return Err(path.expected("a list of outputs, or a string", other)),
    };
    let mut lines = Vec::new();
    for chunk in chunks.objects() {
        let chunk = chunk?;
        lines.extend(chunk.get(STDOUT)?.filter(|text| !text.is_empty()).map(str::to_owned));
        lines.extend(
            chunk.get(STDERR)?.filter(|text| !text.is_empty()).map(|text| format!("stderr:\n{text}")),
        );
        if let Some(outcome) = chunk.get(OUTCOME)? {
            lines.push(match outcome.require(fields::TYPE)? {
                "timeout" => "timed out".to_owned(),
                "exit" => format!("exit code: {}", outcome.require(EXIT_CODE)?.to_json().into_string()),
                _ => return Err(outcome.at(fields::TYPE).invalid("expected \"exit\" or \"timeout\"")),
            });
        }
    }
    Ok(lines.join("\n"))
}
