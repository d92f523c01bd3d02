//! Reader of `tools` of a request, and of those that a message declares.

use super::fields;
use crate::error::ApiError;
use crate::json::JsonObject;
use crate::tools::{self, CUSTOM, ClientTools, FUNCTION, PARAMETERS, ToolBounds};
use crate::warnings::Warnings;

/// What becomes of a tool of an unknown type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is left out, with a warning: clients offer all the tools that they know.
    LeftOut,
    /// The request is refused: its message would say nothing.
    Refused,
}

/// Reads `tools` of a request, or of a message.
pub(super) fn client_tools(
    owner: &JsonObject<'_>,
    bounds: &mut ToolBounds,
    unknown: Unknown,
    warnings: &mut Warnings,
) -> Result<ClientTools, ApiError> {
    let mut client_tools = ClientTools::default();
    for (path, value) in tools::list(owner, bounds)?.iter() {
        let tool = JsonObject::new(value, path)?;
        let kind = tool.require(fields::TYPE)?;
        if unknown == Unknown::Refused && fields::TOOL_KINDS.find(kind).is_none() {
            return Err(tool.at(fields::TYPE).invalid("expected \"function\" or \"custom\""));
        }
        if !warnings.kind(&tool, &fields::TOOL_KINDS, kind)? {
            continue;
        }
        if kind == "custom" {
            let custom = tool.require(CUSTOM)?;
            client_tools.add_custom(custom.require(fields::NAME)?, custom)?;
        } else {
            let function = tool.require(FUNCTION)?;
            client_tools.add(function.require(fields::NAME)?, function, PARAMETERS, value.to_json())?;
        }
    }
    Ok(client_tools)
}
