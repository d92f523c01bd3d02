//! `tools` of a Responses request: functions are taken, everything else is left aside with a warning (clients offer all they have).

use serde_json::{Value, json};

use super::super::error::ApiError;
use super::super::json::Object;
use super::super::tools::{self, Functions};
use super::super::warnings::{Warnings, printable};

/// The functions, and how the response object shows them.
pub(super) fn functions(
    body: &Object<'_>,
    max: usize,
    warnings: &mut Warnings,
) -> Result<(Functions, Vec<Value>), ApiError> {
    let mut functions = Functions::default();
    let mut shown = Vec::new();
    let path = body.at("tools");
    for (index, value) in tools::list(body, max)?.iter().enumerate() {
        let tool = Object::new(value, path.element(index))?;
        match tool.required_string("type")? {
            "function" => {
                functions.add(tool, tools::nested_declaration(tool.map))?;
                shown.push(echo(tool));
            }
            other => warnings.add(format!("tool of type {} ignored", printable(other))),
        }
    }
    Ok((functions, shown))
}

/// A function with all fields that the protocol gives it.
fn echo(tool: Object<'_>) -> Value {
    let field = |name| tool.get(name).cloned().unwrap_or_default();
    json!({
        "type": "function",
        "name": field("name"),
        "description": field("description"),
        "parameters": field("parameters"),
        "strict": field("strict"),
    })
}
