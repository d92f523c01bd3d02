//! Reader of `tools` of a Responses request: functions and custom tools, in namespaces or not.
//! Other tools are ignored with a warning, since clients offer all the tools that they know. Tools
//! may also come in the input, as `additional_tools`.

use super::fields;
use super::hosted;
use super::input_items::{Input, is_of};
use super::names::{Namespaces, flat};
use crate::error::ApiError;
use crate::fields::Row;
use crate::json::{Object, Value};
use crate::raw::{self, Json};
use crate::tools::{self, ClientTools, FORMAT, PARAMETERS, TOOLS, ToolBounds, ToolChoiceField};
use crate::warnings::Warnings;
use net::printable::printable;

/// The tools of a request.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// The tools for parser and template, under flat names.
    pub(super) client_tools: ClientTools,
    /// Namespaces and names that the flat names stand for.
    pub(super) namespaces: Namespaces,
    /// The tools as the response object repeats them.
    pub(super) shown: Vec<Json>,
}

/// Reads the tools of `tools` and of `additional_tools` in the input.
pub(super) fn declared(
    body: &Object<'_>,
    input: Input<'_>,
    mut bounds: ToolBounds,
    warnings: &mut Warnings,
) -> Result<Declared, ApiError> {
    let mut declared = Declared::default();
    declared.list(*body, &mut bounds, warnings)?;
    for (path, item) in input.items() {
        if is_of(item, "additional_tools") {
            declared.list(Object::new(item, path)?, &mut bounds, warnings)?;
        }
    }
    Ok(declared)
}

impl Declared {
    /// The choice with flat names for the names that the client uses.
    pub(super) fn flat_choice(&self, choice: ToolChoiceField) -> ToolChoiceField {
        match choice {
            ToolChoiceField::Allowed(mut allowed) => {
                let meant: Vec<String> =
                    allowed.names.iter().flat_map(|name| self.namespaces.meant_by(name)).cloned().collect();
                allowed.names.extend(meant);
                ToolChoiceField::Allowed(allowed)
            }
            ToolChoiceField::Named(name) => ToolChoiceField::Named(self.flat_name(name)),
            choice => choice,
        }
    }

    /// The flat name of the tool that `name` stands for. Returns `name` unchanged if a tool has it,
    /// or if it stands for none or several.
    fn flat_name(&self, name: String) -> String {
        if self.client_tools.tools.iter().any(|tool| tool.name == name) {
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
        owner: Object<'_>,
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
                    self.add(name, tool, kind)?;
                    self.shown.push(echo(tool, kind));
                    if self.namespaces.has(name) {
                        return Err(taken(tool));
                    }
                }
                // `hosted::request` reads these.
                _ => {}
            }
            if self.client_tools.tools.len() > max {
                return Err(path.invalid(format_args!("at most {max} tools, namespaces and all")));
            }
        }
        Ok(())
    }

    /// Adds the tools of a namespace under flat names.
    fn namespace(
        &mut self,
        namespace: Object<'_>,
        max: usize,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let outer = namespace.require(fields::NAME)?;
        let mut shown = Vec::new();
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
            self.check_free(&name, tool)?;
            self.add(&name, tool, kind)?;
            self.namespaces.insert(name, outer, inner);
            shown.push(echo(tool, kind));
        }
        let description = namespace.get(fields::DESCRIPTION)?.unwrap_or_default();
        self.shown.push(raw::object([
            ("type", Json::of("namespace")),
            ("name", Json::of(outer)),
            ("description", Json::of(description)),
            ("tools", Json::of(&shown)),
        ]));
        Ok(())
    }

    /// Refuses a flat name that another tool has: the model's calls couldn't be told apart.
    fn check_free(&self, name: &str, tool: Object<'_>) -> Result<(), ApiError> {
        if self.client_tools.tools.iter().any(|other| other.name == name) { Err(taken(tool)) } else { Ok(()) }
    }

    /// Adds a tool that clients run, a function or a custom tool, under the name that the model
    /// knows.
    fn add(&mut self, name: &str, tool: Object<'_>, kind: &str) -> Result<(), ApiError> {
        if kind == "custom" {
            return self.client_tools.add_custom(name, tool);
        }
        self.client_tools.add(name, tool, PARAMETERS, tools::nested_declaration(name, tool))
    }
}

fn taken(tool: Object<'_>) -> ApiError {
    tool.at(fields::NAME).invalid("the model would see two tools of this name: rename one, or its namespace")
}

/// The tool with all fields that the protocol gives it, as the response object shows it.
fn echo(tool: Object<'_>, kind: &str) -> Json {
    let field = |row: Row| (row.name, tool.value_of(&row).map_or_else(Json::null, Value::to_json));
    let head = [("type", Json::of(kind)), field(fields::NAME.row()), field(fields::DESCRIPTION.row())];
    if kind == "custom" {
        let text = || raw::object([("type", Json::of("text"))]);
        let format = tool.value(FORMAT).map_or_else(text, Value::to_json);
        return raw::object(head.into_iter().chain([(FORMAT.row().name, format)]));
    }
    raw::object(head.into_iter().chain([field(PARAMETERS.row()), field(fields::STRICT.row())]))
}
