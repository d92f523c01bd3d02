//! Reader of `tools` and `tool_choice`. Tools that the client runs are functions; tools that Anthropic runs, or has trained its models
//! on, are ignored with a warning.

use super::super::error::ApiError;
use super::super::json::{Object, Path};
use super::super::tools::{ClientTools, ToolBounds, ToolChoiceField, function, list};
use super::super::warnings::Warnings;
use model::printable::printable;

/// The field that holds a tool's schema.
const SCHEMA: &str = "input_schema";

/// Reads the tools of a request that the client runs.
pub(super) fn client_tools(
    body: &Object<'_>,
    mut bounds: ToolBounds,
    warnings: &mut Warnings,
) -> Result<ClientTools, ApiError> {
    let mut client_tools = ClientTools::default();
    let path = body.at("tools");
    for (index, value) in list(body, &mut bounds)?.iter().enumerate() {
        let tool = Object::new(value, path.element(index))?;
        match tool.string("type")? {
            None | Some("custom") => add(tool, &mut client_tools)?,
            Some(other) => warnings.add(format!("tool of type {} ignored", printable(other))),
        }
    }
    Ok(client_tools)
}

/// Adds a tool in the shape that templates know: name, description, parameters and strict, in this order, without absent ones.
fn add(tool: Object<'_>, client_tools: &mut ClientTools) -> Result<(), ApiError> {
    let fields = [
        ("name", tool.get("name")),
        ("description", tool.get("description")),
        ("parameters", tool.get(SCHEMA)),
        ("strict", tool.get("strict")),
    ];
    let declaration = function(fields.into_iter().filter_map(|(name, value)| Some((name, value?.to_json()))));
    client_tools.add(tool.required_string("name")?, tool, SCHEMA, declaration)
}

/// Reads `tool_choice`. Returns the choice, and whether several calls in one turn are allowed.
pub(super) fn choice(body: &Object<'_>) -> Result<(ToolChoiceField, bool), ApiError> {
    let Some(choice) = body.object("tool_choice")? else { return Ok((ToolChoiceField::Auto, true)) };
    let parallel = !choice.boolean("disable_parallel_tool_use")?.unwrap_or(false);
    let (path, name): (Path<'_>, _) = (choice.at("type"), choice.string("name")?);
    match choice.required_string("type")? {
        "auto" => Ok((ToolChoiceField::Auto, parallel)),
        "none" => Ok((ToolChoiceField::None, parallel)),
        "any" => Ok((ToolChoiceField::Required, parallel)),
        "tool" => {
            let name = name.ok_or_else(|| choice.at("name").missing("a string"))?;
            Ok((ToolChoiceField::Named(name.to_owned()), parallel))
        }
        _ => Err(path.invalid("expected \"auto\", \"none\", \"any\" or \"tool\"")),
    }
}
