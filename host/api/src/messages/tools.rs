//! Reader of `tools` and `tool_choice`. Tools that the client runs are functions; tools that
//! Anthropic runs, or has trained its models on, are ignored with a warning.

use super::fields;
use crate::error::ApiError;
use crate::json::Object;
use crate::tools::{ClientTools, ToolBounds, ToolChoiceField, function, list};
use crate::warnings::Warnings;

/// Reads the tools of a request that the client runs.
pub(super) fn client_tools(
    body: &Object<'_>,
    mut bounds: ToolBounds,
    warnings: &mut Warnings,
) -> Result<ClientTools, ApiError> {
    let mut client_tools = ClientTools::default();
    for tool in list(body, &mut bounds)?.objects() {
        let tool = tool?;
        let kind = tool.get(fields::TYPE.optional())?.unwrap_or("custom");
        if warnings.kind(&tool, &fields::TOOL_KINDS, kind)? {
            add(tool, &mut client_tools)?;
        }
    }
    Ok(client_tools)
}

/// Adds a tool in the shape that templates know: name, description, parameters and strict, in this
/// order, without absent ones.
fn add(tool: Object<'_>, client_tools: &mut ClientTools) -> Result<(), ApiError> {
    let fields = [
        ("name", tool.value(fields::NAME)),
        ("description", tool.value(fields::DESCRIPTION)),
        ("parameters", tool.value(fields::INPUT_SCHEMA)),
        ("strict", tool.value(fields::STRICT)),
    ];
    let declaration = function(fields.into_iter().filter_map(|(name, value)| Some((name, value?.to_json()))));
    client_tools.add(tool.require(fields::NAME)?, tool, fields::INPUT_SCHEMA, declaration)
}

/// Reads `tool_choice`. Returns the choice, and whether several calls in one turn are allowed.
pub(super) fn choice(body: &Object<'_>) -> Result<(ToolChoiceField, bool), ApiError> {
    let Some(choice) = body.get(fields::TOOL_CHOICE)? else { return Ok((ToolChoiceField::Auto, true)) };
    let parallel = !choice.get(fields::ONE_CALL)?.unwrap_or(false);
    let name = choice.get(fields::CHOSEN)?;
    match choice.require(fields::TYPE)? {
        "auto" => Ok((ToolChoiceField::Auto, parallel)),
        "none" => Ok((ToolChoiceField::None, parallel)),
        "any" => Ok((ToolChoiceField::Required, parallel)),
        "tool" => {
            let name = name.ok_or_else(|| choice.at(fields::CHOSEN).missing("a string"))?;
            Ok((ToolChoiceField::Named(name.to_owned()), parallel))
        }
        _ => Err(choice.at(fields::TYPE).invalid("expected \"auto\", \"none\", \"any\" or \"tool\"")),
    }
}
