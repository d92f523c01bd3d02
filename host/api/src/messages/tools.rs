//! Reader of `tools` and `tool_choice`. Tools that the client runs are functions; tools that
//! Anthropic runs, or has trained its models on, are ignored with a warning.

use super::fields;
use super::known_tools::{self, KnownTool};
use crate::error::ApiError;
use crate::json::{JsonObject, Value};
use crate::raw::Json;
use crate::tools::{ClientTools, ToolBounds, ToolChoiceField, function, list};
use crate::warnings::Warnings;
use grammar::ToolDefinition;

/// Beginning of the types of searches that Anthropic runs.
const SERVER_SEARCH: &str = "tool_search_tool_";

/// The tools of a request that the client runs.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// The tools that the model sees from the start.
    pub(super) shown: ClientTools,
    /// The others.
    pub(super) deferred: Deferred,
}

/// Tools that the model doesn't see before a `tool_reference` names them.
#[derive(Debug, Default)]
pub(super) struct Deferred(Vec<DeferredTool>);

#[derive(Debug)]
struct DeferredTool {
    definition: ToolDefinition,
    declaration: String,
    is_found: bool,
}

impl Deferred {
    /// What the model sees of the tool that a reference names: its declaration once, and the name where
    /// it sees the tool anyway.
    pub(super) fn find<'a>(&mut self, name: &'a str) -> std::borrow::Cow<'a, str> {
        match self.0.iter_mut().find(|tool| tool.definition.name == name) {
            Some(tool) if !tool.is_found => {
                tool.is_found = true;
                tool.declaration.clone().into()
            }
            _ => name.into(),
        }
    }

    /// The tools that were found, which the model may call.
    pub(super) fn into_found(self) -> impl Iterator<Item = ToolDefinition> {
        self.0.into_iter().filter(|tool| tool.is_found).map(|tool| tool.definition)
    }
}

/// Reads the tools of a request that the client runs. No tool is deferred where the request has a
/// search that isn't run here: it would never be found.
pub(super) fn client_tools(
    body: &JsonObject<'_>,
    mut bounds: ToolBounds,
    warnings: &mut Warnings,
) -> Result<Declared, ApiError> {
    let mut declared = Declared::default();
    let tools = list(body, &mut bounds)?;
    let defers = !tools.iter().any(|(_, tool)| is_server_search(tool));
    for tool in tools.objects() {
        let tool = tool?;
        let kind = tool.get(fields::TYPE.optional())?.unwrap_or("custom");
        if !warnings.kind(&tool, &fields::TOOL_KINDS, known_tools::family(kind))? {
            continue;
        }
        if super::hosted::is_hosted(kind) {
            continue;
        }
        match KnownTool::of(kind) {
            Some(known) => add_known(known, tool, &mut declared.shown)?,
            None => add(tool, &mut declared.shown)?,
        }
        if defers && tool.get(fields::DEFER_LOADING)?.unwrap_or(false) {
            declared.defer();
        }
    }
    Ok(declared)
}

fn is_server_search(tool: Value<'_>) -> bool {
    let kind = tool.field(fields::TYPE).and_then(Value::as_str);
    kind.is_some_and(|kind| kind.starts_with(SERVER_SEARCH))
}

impl Declared {
    /// Takes the last tool away from the model, until it is found.
    fn defer(&mut self) {
        let ClientTools { tools, declarations } = &mut self.shown;
        if let (Some(definition), Some(declaration)) = (tools.pop(), declarations.pop()) {
            let declaration = declaration.declaration;
            self.deferred.0.push(DeferredTool { definition, declaration, is_found: false });
        }
    }
}

/// Adds a tool of a known type under the name that the client gives it.
fn add_known(known: KnownTool, tool: JsonObject<'_>, client_tools: &mut ClientTools) -> Result<(), ApiError> {
    let name = tool.require(fields::NAME)?;
    crate::tools::check_name(name, &tool)?;
    client_tools.add_own(name, known.description(), &Json::of(&known.schema()));
    Ok(())
}

/// Adds a tool in the shape that templates know: name, description, parameters and strict, in this
/// order, without absent ones.
fn add(tool: JsonObject<'_>, client_tools: &mut ClientTools) -> Result<(), ApiError> {
    let fields = [
        ("name", tool.value(fields::NAME)),
        ("description", tool.value(fields::DESCRIPTION)),
        ("parameters", tool.value(fields::INPUT_SCHEMA)),
        ("strict", tool.value(fields::STRICT)),
    ];
    let declaration = function(fields.into_iter().filter_map(|(name, value)| Some((name, value?.to_json()))));
    client_tools.add(tool.require(fields::NAME)?, tool, fields::INPUT_SCHEMA, declaration)
}

/// What `tool_choice` says.
pub(super) struct WantedCalls {
    pub(super) choice: ToolChoiceField,
    /// Whether one turn may have several.
    pub(super) parallel: bool,
}

/// Reads `tool_choice`.
pub(super) fn choice(body: &JsonObject<'_>) -> Result<WantedCalls, ApiError> {
    let Some(choice) = body.get(fields::TOOL_CHOICE)? else {
        return Ok(WantedCalls { choice: ToolChoiceField::Auto, parallel: true });
    };
    let parallel = !choice.get(fields::ONE_CALL)?.unwrap_or(false);
    let name = choice.get(fields::CHOSEN)?;
    let choice = match choice.require(fields::TYPE)? {
        "auto" => ToolChoiceField::Auto,
        "none" => ToolChoiceField::None,
        "any" => ToolChoiceField::Required,
        "tool" => {
            let name = name.ok_or_else(|| choice.at(fields::CHOSEN).missing("a string"))?;
            ToolChoiceField::Named(name.to_owned())
        }
        _ => {
            let what = "expected \"auto\", \"none\", \"any\" or \"tool\"";
            return Err(choice.at(fields::TYPE).invalid(what));
        }
    };
    Ok(WantedCalls { choice, parallel })
}
