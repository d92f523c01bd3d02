//! Reader of `tool_choice`: the tools that the model is shown, and may or must call.

use super::{ClientTools, TOOL_CHOICE};
use crate::error::ApiError;
use crate::fields::{self, Row, Shape, table};
use crate::json::{Field, JsonObject, List, Path, Required, Value};
use grammar::ToolChoice;

/// `allowed_tools` of a choice, in Chat Completions.
pub(crate) const ALLOWED_TOOLS: Required<JsonObject<'_>> =
    Field::new("allowed_tools", "`mode` (`auto` or `required`) and `tools`").required();

table! {
    pub(crate) ALLOWED_FIELDS {
        MODE: Field<&str> = Field::new("mode", "").of(Shape::OneOf(&["auto", "required"]));
        TOOLS: Required<List<'_>> =
            Field::new("tools", "functions, custom tools and namespaces by `name`, `mcp` by `server_label` and, where one tool is meant, `name`, others by `type`")
                .of(Shape::List(&fields::ANY_OBJECT))
                .required_as("a list of tools");
    }
}

/// Value of `tool_choice`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolChoiceField {
    /// The model may call any tool.
    Auto,
    /// The model calls no tool.
    None,
    /// The model must call a tool.
    Required,
    /// The model must call the tool of this name.
    Named(String),
    /// The model must call the tool of this type, which has no name.
    OfKind(String),
    /// The model must call this tool of a tool server.
    OfServer {
        /// The server's label.
        label: String,
        /// Name of the tool on its server.
        name: String,
    },
    /// The model may, or must, call some of these tools.
    Allowed(Allowed),
}

/// Tools that are allowed, each by its name, its type or its server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Whether one of the tools must be called.
    pub(crate) required: bool,
    /// Names of the tools that clients run.
    pub(crate) names: Vec<String>,
    /// Types of the tools that have no name.
    pub(crate) kinds: Vec<String>,
    /// Labels of MCP servers, each with the name of one tool; `None`: all tools of the server.
    pub(crate) servers: Vec<(String, Option<String>)>,
}

/// Reads `tool_choice`.
pub(crate) fn choice(body: &JsonObject<'_>) -> Result<ToolChoiceField, ApiError> {
    let path = body.at(TOOL_CHOICE);
    match body.value(TOOL_CHOICE) {
        None => Ok(ToolChoiceField::Auto),
        Some(Value::String(choice)) => simple(choice.get(), path),
        Some(value @ Value::Object(_)) => {
            let choice = JsonObject::new(value, path)?;
            match choice.require(fields::TYPE)? {
                "allowed_tools" => allowed(choice),
                kind @ ("auto" | "none" | "required") => simple(kind, path),
                kind @ ("function" | "custom") => {
                    let named = choice.entry::<JsonObject<'_>>(kind, &fields::ANY_OBJECT)?.unwrap_or(choice);
                    Ok(ToolChoiceField::Named(named.require(fields::NAME)?.to_owned()))
                }
                "mcp" => Ok(ToolChoiceField::OfServer {
                    label: choice.require(fields::SERVER_LABEL)?.to_owned(),
                    name: choice.require(fields::NAME)?.to_owned(),
                }),
                kind => Ok(ToolChoiceField::OfKind(kind.to_owned())),
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

/// Reads a choice of allowed tools. `mode` and `tools` are in the choice itself (Responses) or in
/// its `allowed_tools` (Chat Completions). Likewise a tool's name is in the tool itself, or in the
/// field of its type.
fn allowed(choice: JsonObject<'_>) -> Result<ToolChoiceField, ApiError> {
    let allowed = choice.get(ALLOWED_TOOLS.optional())?.unwrap_or(choice);
    let required = match allowed.get(MODE)? {
        None | Some("auto") => false,
        Some("required") => true,
        Some(_) => return Err(allowed.at(MODE).invalid("expected \"auto\" or \"required\"")),
    };
    let mut all = Allowed { required, ..Allowed::default() };
    for tool in allowed.require(TOOLS)?.objects() {
        all.add(tool?)?;
    }
    Ok(ToolChoiceField::Allowed(all))
}

impl Allowed {
    fn add(&mut self, tool: JsonObject<'_>) -> Result<(), ApiError> {
        let kind = tool.require(fields::TYPE)?;
        let named = tool.entry::<JsonObject<'_>>(kind, &fields::ANY_OBJECT)?.unwrap_or(tool);
        let name = named.get(fields::NAME.optional())?.map(str::to_owned);
        match (kind, name) {
            ("mcp", name) => self.servers.push((tool.require(fields::SERVER_LABEL)?.to_owned(), name)),
            (_, Some(name)) => self.names.push(name),
            (kind, None) => self.kinds.push(kind.to_owned()),
        }
        Ok(())
    }
}

impl ClientTools {
    /// Removes the tools that the model must not see, and returns the choice for the parser. With
    /// `none`, templates get no tool; with allowed tools, neither templates nor the parser get the
    /// others. `others`: the request has callable tools that the server runs.
    ///
    /// # Errors
    /// 400 at `path` where a call is required and there is no tool to call, or none of the required
    /// name.
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
            ToolChoiceField::OfKind(_) | ToolChoiceField::OfServer { .. } => Err(path.invalid(
                "a call is demanded of a tool that is not there: declare it, or ask this server's operator for it",
            )),
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
