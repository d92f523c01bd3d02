//! Reader of `tools` of a Responses request: functions and custom tools, in namespaces or not, and
//! those that have items of their own (`typed`). Other tools are ignored with a warning, since
//! clients offer all the tools that they know. Tools may also come in the input: as
//! `additional_tools`, and as what a search found.

use std::sync::Arc;

use super::fields::{self, DEFER_LOADING, ENVIRONMENT, EXECUTION, SKILL_PATH, SKILLS};
use super::hosted;
use super::input_items::{Input, is_of};
use super::names::{Namespaces, flat};
use super::typed::TypedTool;
use crate::agent::{DeferredTool, SEARCH, ToolSearch};
use crate::error::ApiError;
use crate::fields::Row;
use crate::json::{JsonObject, Path, Value};
use crate::raw::{self, Json};
use crate::tools::{self, ClientTools, FORMAT, PARAMETERS, TOOLS, ToolBounds, ToolChoiceField};
use crate::warnings::Warnings;
use net::printable::printable;

/// What a client does about a shell that the server would have to run.
const NO_CONTAINERS: &str = "there are no containers here: send {\"type\": \"local\"} and run the commands yourself, or use the tools of a server (`mcp`)";

/// The tools of a request.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// The tools for parser and template, under flat names.
    pub(super) client_tools: ClientTools,
    /// Namespaces and names that the flat names stand for.
    pub(super) namespaces: Namespaces,
    /// The tools that have items of their own.
    typed: Vec<TypedTool>,
    /// The tools as the response object repeats them.
    pub(super) shown: Vec<Json>,
    /// Whether the server searches tools for the model.
    searches: bool,
    /// Whether there is a search of tools, so that the model doesn't see those that are deferred.
    searched: bool,
    /// The tools that the model doesn't see before they are found.
    hidden: Vec<DeferredTool>,
    /// How many of them were found, and so stand among the others, too.
    joined: usize,
}

/// Reads the tools of `tools`, of `additional_tools` in the input, and those that searches found,
/// which the model may call and sees where they were found.
pub(super) fn declared(
    body: &JsonObject<'_>,
    input: Input<'_>,
    mut bounds: ToolBounds,
    warnings: &mut Warnings,
) -> Result<Declared, ApiError> {
    let is_search = |(_, tool): (_, Value<'_>)| is_of(tool, TypedTool::ToolSearch.name());
    let mut declared = Declared { searched: body.list(TOOLS)?.iter().any(is_search), ..Declared::default() };
    declared.list(*body, &mut bounds, warnings)?;
    for (kind, path, item) in input.sought() {
        match kind {
            "additional_tools" => declared.list(JsonObject::new(item, path)?, &mut bounds, warnings)?,
            "tool_search_output" => {
                let (item, mut left) = (JsonObject::new(item, path)?, bounds.clone());
                // A tool that is found again takes nothing: its declaration is the model's text by
                // now.
                if declared.join(of_search(item, &mut left, warnings)?) {
                    bounds = left;
                }
                declared.check_number(item.at(TOOLS), bounds.tools)?;
            }
            _ => {}
        }
    }
    Ok(declared)
}

/// Checks the size of what a search found, where it comes without a request.
pub(super) fn check_found(item: JsonObject<'_>, mut bounds: ToolBounds) -> Result<(), ApiError> {
    of_search(item, &mut bounds, &mut Warnings::default()).map(|_| ())
}

/// The declarations of the tools that a search found, as the model sees them. Their size was checked
/// with the request, or with `check_found`.
pub(super) fn found(item: JsonObject<'_>) -> Result<Vec<String>, ApiError> {
    let found = of_search(item, &mut ToolBounds::checked(), &mut Warnings::default())?;
    let others = found.client_tools.declarations.into_iter().map(|tool| tool.declaration);
    Ok(found.hidden.into_iter().map(|tool| tool.declaration).chain(others).collect())
}

fn of_search(
    item: JsonObject<'_>,
    bounds: &mut ToolBounds,
    warnings: &mut Warnings,
) -> Result<Declared, ApiError> {
    for tool in item.list(TOOLS)?.objects() {
        let tool = tool?;
        if !matches!(tool.require(fields::TYPE)?, "function" | "custom" | "namespace") {
            let what = "a search finds functions, custom tools and namespaces: declare the others in `tools`";
            return Err(tool.at(fields::TYPE).invalid(what));
        }
    }
    let mut found = Declared { searched: true, ..Declared::default() };
    found.list(item, bounds, warnings)?;
    Ok(found)
}

impl Declared {
    /// The tools that the server searches for the model, of those that `choice` allows; none where
    /// the model mayn't search.
    pub(super) fn take_search(&mut self, choice: &ToolChoiceField) -> Option<ToolSearch> {
        let mut tools = std::mem::take(&mut self.hidden);
        if let ToolChoiceField::Allowed(allowed) = choice {
            tools.retain(|tool| allowed.names.contains(&tool.definition.name));
        }
        (self.searches && self.client_tools.has(SEARCH)).then_some(ToolSearch { tools })
    }

    /// The tools whose calls come as items of their own, for the client to run.
    pub(super) fn typed_calls(&self) -> Vec<TypedTool> {
        let is_client_run = |tool: &TypedTool| *tool != TypedTool::ToolSearch || !self.searches;
        self.typed.iter().copied().filter(is_client_run).collect()
    }

    /// Lets the model call tools that it sees elsewhere. What is there already stays. Returns whether
    /// any was new.
    fn join(&mut self, found: Self) -> bool {
        let before = self.client_tools.tools.len();
        let deferred = found.hidden.into_iter().map(|tool| tool.definition);
        for tool in deferred.chain(found.client_tools.tools) {
            if !self.client_tools.has(&tool.name) {
                self.joined +=
                    usize::from(self.hidden.iter().any(|hidden| hidden.definition.name == tool.name));
                self.client_tools.tools.push(tool);
            }
        }
        self.namespaces.extend(found.namespaces);
        self.client_tools.tools.len() > before
    }

    /// The choice with flat names for the names that the client uses.
    pub(super) fn flat_choice(&self, choice: ToolChoiceField) -> ToolChoiceField {
        match choice {
            ToolChoiceField::Allowed(mut allowed) => {
                let meant: Vec<String> =
                    allowed.names.iter().flat_map(|name| self.namespaces.meant_by(name)).cloned().collect();
                allowed.names.extend(meant);
                let typed = allowed.kinds.iter().filter(|kind| TypedTool::of(kind).is_some());
                allowed.names.extend(typed.cloned());
                ToolChoiceField::Allowed(allowed)
            }
            ToolChoiceField::Named(name) => ToolChoiceField::Named(self.flat_name(name)),
            ToolChoiceField::OfKind(kind) if TypedTool::of(&kind).is_some() => ToolChoiceField::Named(kind),
            choice => choice,
        }
    }

    /// The flat name of the tool that `name` stands for. Returns `name` unchanged if a tool has it,
    /// or if it stands for none or several.
    fn flat_name(&self, name: String) -> String {
        if self.client_tools.has(&name) {
            return name;
        }
        let mut meant = self.namespaces.meant_by(&name);
        match (meant.next(), meant.next()) {
            (Some(one), None) => one.clone(),
            _ => name.clone(),
        }
    }

    /// Adds the tools in the list `tools` of an object.
    fn list(
        &mut self,
        owner: JsonObject<'_>,
        bounds: &mut ToolBounds,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let (path, max) = (owner.at(TOOLS), bounds.tools);
        for tool in tools::list(&owner, bounds)?.objects() {
            let tool = tool?;
            let kind = hosted::request::family(tool.require(fields::TYPE)?);
            if !warnings.kind(&tool, &fields::TOOL_KINDS, kind)? {
                continue;
            }
            match kind {
                "namespace" => self.namespace(tool, max, warnings)?,
                kind @ ("function" | "custom") => {
                    let name = tool.require(fields::NAME)?;
                    if self.namespaces.has(name) || self.typed.iter().any(|typed| typed.name() == name) {
                        return Err(taken(tool.at(fields::NAME)));
                    }
                    self.add(name, tool, kind)?;
                    self.shown.push(echo(tool, kind));
                    if self.is_hidden(tool)? {
                        // Clients know the calls of such a tool by a namespace of its own name.
                        self.namespaces.insert(name.to_owned(), name, name);
                        self.hide(tool, None)?;
                    }
                }
                // `hosted::request` reads the others.
                kind => {
                    if let Some(typed) = TypedTool::of(kind) {
                        self.typed(typed, tool, warnings)?;
                    }
                }
            }
            self.check_number(path, max)?;
        }
        Ok(())
    }

    /// Refuses more tools than a request may have, wherever they are declared.
    fn check_number(&self, path: Path<'_>, max: usize) -> Result<(), ApiError> {
        if self.client_tools.tools.len() + self.hidden.len() - self.joined > max {
            return Err(path.invalid(format_args!("at most {max} tools, namespaces and all")));
        }
        Ok(())
    }

    /// Adds the tools of a namespace under flat names.
    fn namespace(
        &mut self,
        namespace: JsonObject<'_>,
        max: usize,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let outer = namespace.require(fields::NAME)?;
        let mut shown = Vec::new();
        let head = shown_namespace(namespace, &[])?.into_string();
        let head: Arc<str> = head.strip_suffix("]}").unwrap_or(&head).into();
        let list = namespace.list(TOOLS)?;
        list.check_len(max, "tools")?;
        for tool in list.objects() {
            let tool = tool?;
            let kind = tool.require(fields::TYPE)?;
            let (Some(inner), "function" | "custom") = (tool.get(fields::NAME.optional())?, kind) else {
                warnings.add(format!("tool of type {} ignored", printable(kind)));
                continue;
            };
            let name = flat(outer, inner);
            self.check_free(&name, tool.at(fields::NAME))?;
            self.add(&name, tool, kind)?;
            self.namespaces.insert(name, outer, inner);
            shown.push(echo(tool, kind));
            if self.is_hidden(tool)? {
                self.hide(tool, Some(Arc::clone(&head)))?;
            }
        }
        self.shown.push(shown_namespace(namespace, &shown)?);
        Ok(())
    }

    /// Whether the model doesn't see the tool before a search found it.
    fn is_hidden(&self, tool: JsonObject<'_>) -> Result<bool, ApiError> {
        Ok(tool.get(DEFER_LOADING)?.unwrap_or(false) && self.searched)
    }

    /// Takes the last tool away from the model, who may search for it: `tool`, as the client declared
    /// it, in a namespace that begins with `namespace`.
    fn hide(&mut self, tool: JsonObject<'_>, namespace: Option<Arc<str>>) -> Result<(), ApiError> {
        let shown = whole(tool).into_string();
        // An item that shows it is read from JSON again.
        serde_json::from_str::<serde_json::Value>(&shown).map_err(|error| {
            tool.path.invalid(format_args!(
                "a tool that is found later is kept as JSON, and this one can't be: {error}"
            ))
        })?;
        let ClientTools { tools, declarations } = &mut self.client_tools;
        let (Some(definition), Some(declaration)) = (tools.pop(), declarations.pop()) else { return Ok(()) };
        let declaration = declaration.declaration;
        self.hidden.push(DeferredTool { definition, declaration, shown, namespace });
        Ok(())
    }

    /// Adds a tool that has items of its own. One that is there already is ignored with a warning;
    /// a shell that isn't the client's is refused, since the client wouldn't run its commands.
    fn typed(
        &mut self,
        typed: TypedTool,
        tool: JsonObject<'_>,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let name = typed.name();
        if self.typed.contains(&typed) {
            warnings.add(format!("tool of type {name} ignored: there is one already"));
            return Ok(());
        }
        let (mut description, mut parameters) =
            (typed.description().to_owned(), Json::of(&typed.parameters()));
        match typed {
            TypedTool::Shell => {
                if let Some(place) = tool.get(ENVIRONMENT)? {
                    if place.require(fields::TYPE)? != "local" {
                        return Err(place.at(fields::TYPE).unsupported(NO_CONTAINERS));
                    }
                    add_skills(&mut description, place)?;
                }
            }
            TypedTool::ToolSearch => {
                let own = tool.get(fields::DESCRIPTION)?.filter(|text| !text.is_empty());
                description = own.map_or(description, str::to_owned);
                self.searches = tool.get(EXECUTION)? != Some("client");
                if let (false, Some(own)) = (self.searches, tool.value(PARAMETERS)) {
                    parameters = own.to_json();
                }
            }
            TypedTool::LocalShell | TypedTool::ApplyPatch => {}
        }
        self.check_free(name, tool.at(fields::TYPE))?;
        self.client_tools.add_own(name, &description, &parameters);
        self.typed.push(typed);
        self.shown.push(whole(tool));
        Ok(())
    }

    /// Refuses a name that another tool has: the model's calls couldn't be told apart.
    fn check_free(&self, name: &str, path: Path<'_>) -> Result<(), ApiError> {
        let is_hidden = self.hidden.iter().any(|tool| tool.definition.name == name);
        if is_hidden || self.client_tools.has(name) { Err(taken(path)) } else { Ok(()) }
    }

    /// Adds a tool that clients run, a function or a custom tool, under the name that the model
    /// knows.
    fn add(&mut self, name: &str, tool: JsonObject<'_>, kind: &str) -> Result<(), ApiError> {
        if kind == "custom" {
            return self.client_tools.add_custom(name, tool);
        }
        self.client_tools.add(name, tool, PARAMETERS, tools::nested_declaration(name, tool))
    }
}

/// The tool as the client declared it.
fn whole(tool: JsonObject<'_>) -> Json {
    raw::object(tool.fields().map(|(name, value)| (name, value.to_json())))
}

/// A namespace with some of its tools, as the response object shows it.
fn shown_namespace(namespace: JsonObject<'_>, tools: &[Json]) -> Result<Json, ApiError> {
    Ok(raw::object([
        ("type", Json::of("namespace")),
        ("name", Json::of(namespace.require(fields::NAME)?)),
        ("description", Json::of(namespace.get(fields::DESCRIPTION)?.unwrap_or_default())),
        ("tools", Json::of(tools)),
    ]))
}

fn taken(path: Path<'_>) -> ApiError {
    path.invalid("the model would see two tools of this name: rename one, or its namespace")
}

/// Tells the model of the skills in a shell's environment.
fn add_skills(description: &mut String, place: JsonObject<'_>) -> Result<(), ApiError> {
    for (index, skill) in place.list(SKILLS)?.objects().enumerate() {
        let skill = skill?;
        if index == 0 {
            description.push_str(" Skills, each a folder whose SKILL.md says how to do something:");
        }
        let (name, path) = (skill.require(fields::NAME)?, skill.require(SKILL_PATH)?);
        let about = skill.get(fields::DESCRIPTION)?.unwrap_or_default();
        description.extend(["\n- ", name, " (", path, "): ", about]);
    }
    Ok(())
}

/// The tool with all fields that the protocol gives it, as the response object shows it.
fn echo(tool: JsonObject<'_>, kind: &str) -> Json {
    let field = |row: Row| (row.name, tool.value_of(&row).map_or_else(Json::null, Value::to_json));
    let head = [("type", Json::of(kind)), field(fields::NAME.row()), field(fields::DESCRIPTION.row())];
    if kind == "custom" {
        let text = || raw::object([("type", Json::of("text"))]);
        let format = tool.value(FORMAT).map_or_else(text, Value::to_json);
        return raw::object(head.into_iter().chain([(FORMAT.row().name, format)]));
    }
    raw::object(head.into_iter().chain([field(PARAMETERS.row()), field(fields::STRICT.row())]))
}
