//! `tool_choice`: which tools the model is shown, and may or must call.

use super::super::error::ApiError;
use super::super::json::{Object, Path, Value};
use super::Functions;
use crate::parser::contract::ToolChoice;

/// What `tool_choice` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolChoiceField {
    /// Any tool, or none.
    Auto,
    /// No call.
    None,
    /// A call of any tool.
    Required,
    /// A call of the tool of this name.
    Named(String),
    /// Any of these, or none.
    Allowed(Allowed),
}

/// Tools that are allowed, each by what it is known by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Whether one of them must be called.
    pub(crate) required: bool,
    /// Tools that clients run, by name.
    pub(crate) names: Vec<String>,
    /// Tools that have no name, by type.
    pub(crate) kinds: Vec<String>,
    /// MCP servers by label, each with the one tool that is meant; none: all of them.
    pub(crate) servers: Vec<(String, Option<String>)>,
}

/// Reads `tool_choice`. A tool that the server runs can't be named as the one to call.
pub(crate) fn choice(body: &Object<'_>) -> Result<ToolChoiceField, ApiError> {
    let path = body.at("tool_choice");
    match body.get("tool_choice") {
        None => Ok(ToolChoiceField::Auto),
        Some(Value::String(choice)) => simple(choice.get(), path),
        Some(value @ Value::Object(_)) => {
            let choice = Object::new(value, path)?;
            match choice.required_string("type")? {
                "allowed_tools" => allowed(choice),
                kind @ ("auto" | "none" | "required") => simple(kind, path),
                kind @ ("function" | "custom") => {
                    let named = choice.object(kind)?.unwrap_or(choice);
                    Ok(ToolChoiceField::Named(named.required_string("name")?.to_owned()))
                }
                _ => Err(path.unsupported(
                    "a forced choice of a tool that the server runs is not there: send \"required\", or allowed_tools",
                )),
            }
        }
        Some(other) => Err(path.expected("a string or an object", other)),
    }
}

fn simple(choice: &str, path: Path<'_>) -> Result<ToolChoiceField, ApiError> {
    match choice {
        "auto" => Ok(ToolChoiceField::Auto),
        "none" => Ok(ToolChoiceField::None),
        "required" | "any" => Ok(ToolChoiceField::Required),
        _ => Err(path.invalid("expected \"auto\", \"none\", \"required\" or an object")),
    }
}

/// `mode` and `tools` stand in the choice itself (Responses) or in its `allowed_tools` (Chat Completions), and so with names.
fn allowed(choice: Object<'_>) -> Result<ToolChoiceField, ApiError> {
    let allowed = choice.object("allowed_tools")?.unwrap_or(choice);
    let required = match allowed.string("mode")? {
        None | Some("auto") => false,
        Some("required") => true,
        Some(_) => return Err(allowed.at("mode").invalid("expected \"auto\" or \"required\"")),
    };
    let path = allowed.at("tools");
    let tools = allowed.list("tools")?.ok_or_else(|| path.missing("a list of tools"))?;
    let mut all = Allowed { required, ..Allowed::default() };
    for (index, value) in tools.iter().enumerate() {
        all.add(Object::new(value, path.element(index))?)?;
    }
    Ok(ToolChoiceField::Allowed(all))
}

impl Allowed {
    fn add(&mut self, tool: Object<'_>) -> Result<(), ApiError> {
        let kind = tool.required_string("type")?;
        let name = tool.object(kind)?.unwrap_or(tool).string("name")?.map(str::to_owned);
        match (kind, name) {
            ("mcp", name) => self.servers.push((tool.required_string("server_label")?.to_owned(), name)),
            (_, Some(name)) => self.names.push(name),
            (kind, None) => self.kinds.push(kind.to_owned()),
        }
        Ok(())
    }
}

impl Functions {
    /// Leaves what the model is to see, and says what the parser is to know: without calls no tool is shown, and of a choice of
    /// tools the others are neither shown nor known. `others`: there are tools to call beside these, which the server runs.
    ///
    /// # Errors
    /// 400 at `path` where a call is demanded and there is no such tool.
    pub(crate) fn choose(
        &mut self,
        choice: &ToolChoiceField,
        others: bool,
        path: Path<'_>,
    ) -> Result<ToolChoice, ApiError> {
        if let ToolChoiceField::Allowed(allowed) = choice {
            self.tools.retain(|tool| allowed.names.contains(&tool.name));
            self.declarations.retain(|tool| allowed.names.contains(&tool.name));
        }
        let any = others || !self.tools.is_empty();
        match choice {
            ToolChoiceField::Auto => Ok(ToolChoice::Auto),
            ToolChoiceField::None => {
                self.declarations.clear();
                Ok(ToolChoice::None)
            }
            ToolChoiceField::Named(name) if self.tools.iter().any(|tool| tool.name == *name) => {
                Ok(ToolChoice::Named(name.clone()))
            }
            ToolChoiceField::Named(_) => Err(path.invalid("expected the name of a declared tool")),
            ToolChoiceField::Required | ToolChoiceField::Allowed(Allowed { required: true, .. }) if any => {
                Ok(ToolChoice::Required)
            }
            ToolChoiceField::Required | ToolChoiceField::Allowed(Allowed { required: true, .. }) => {
                Err(path.invalid("a call is demanded, and there is no tool to call: declare one"))
            }
            ToolChoiceField::Allowed(_) if any => Ok(ToolChoice::Auto),
            ToolChoiceField::Allowed(_) => Ok(ToolChoice::None),
        }
    }
}
