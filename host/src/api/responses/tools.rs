//! `tools` of a Responses request: functions and custom tools are taken, in namespaces or not; what the server can't run is left
//! aside with a warning (clients offer all they have). Tools may also come in the input, as `additional_tools`.

use serde_json::{Value, json};

use super::super::error::ApiError;
use super::super::json::Object;
use super::super::tools::{self, Choice, Functions};
use super::super::warnings::{Warnings, printable};
use super::hosted;
use super::names::{Namespaces, flat};

/// The tools of a request.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// For parser and template, under flat names.
    pub(super) functions: Functions,
    /// What the flat names stand for.
    pub(super) namespaces: Namespaces,
    /// As the response object repeats them.
    pub(super) shown: Vec<Value>,
}

/// Reads all tools, at most `max` of them.
pub(super) fn declared(body: &Object<'_>, max: usize, warnings: &mut Warnings) -> Result<Declared, ApiError> {
    let mut declared = Declared::default();
    declared.list(*body, max, warnings)?;
    let path = body.at("input");
    let items = body.get("input").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (index, item) in items.iter().enumerate() {
        if item.get("type").and_then(Value::as_str) == Some("additional_tools") {
            declared.list(Object::new(item, path.element(index))?, max, warnings)?;
        }
    }
    Ok(declared)
}

impl Declared {
    /// The choice among them, in flat names.
    pub(super) fn flat_choice(&self, choice: Choice) -> Choice {
        let Choice::Allowed(mut allowed) = choice else { return choice };
        let meant: Vec<String> =
            allowed.names.iter().flat_map(|name| self.namespaces.meant_by(name)).cloned().collect();
        allowed.names.extend(meant);
        Choice::Allowed(allowed)
    }

    /// The list `tools` of an object.
    fn list(&mut self, owner: Object<'_>, max: usize, warnings: &mut Warnings) -> Result<(), ApiError> {
        let path = owner.at("tools");
        for (index, value) in tools::list(&owner, max)?.iter().enumerate() {
            let tool = Object::new(value, path.element(index))?;
            match tool.required_string("type")? {
                "namespace" => self.namespace(tool, max, warnings)?,
                kind if self.add(tool, kind)? => {
                    self.shown.push(echo(tool, kind));
                    if self.namespaces.has(tool.required_string("name")?) {
                        return Err(taken(tool));
                    }
                }
                // Read with the tools that the server runs.
                kind if hosted::request::is_hosted(kind) => {}
                other => warnings.add(format!("tool of type {} ignored", printable(other))),
            }
            if self.functions.tools.len() > max {
                return Err(path.invalid(format_args!("at most {max} tools, namespaces and all")));
            }
        }
        Ok(())
    }

    /// A namespace: its tools under flat names.
    fn namespace(
        &mut self,
        namespace: Object<'_>,
        max: usize,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let outer = namespace.required_string("name")?;
        let path = namespace.at("tools");
        let mut shown = Vec::new();
        for (index, value) in tools::list(&namespace, max)?.iter().enumerate() {
            let tool = Object::new(value, path.element(index))?;
            let kind = tool.required_string("type")?;
            let Some(inner) = tool.string("name")? else {
                warnings.add(format!("tool of type {} ignored", printable(kind)));
                continue;
            };
            let name = flat(outer, inner);
            self.check_free(&name, tool)?;
            let mut renamed = tool.map.clone();
            renamed.insert("name".to_owned(), Value::String(name.clone()));
            if self.add(Object { map: &renamed, path: tool.path }, kind)? {
                self.namespaces.insert(name, outer, inner);
                shown.push(echo(tool, kind));
            } else {
                warnings.add(format!("tool of type {} ignored", printable(kind)));
            }
        }
        let description = namespace.string("description")?.unwrap_or_default();
        self.shown
            .push(json!({ "type": "namespace", "name": outer, "description": description, "tools": shown }));
        Ok(())
    }

    /// The model mustn't see two tools under one name where one of them is a flat name: calls couldn't be told apart.
    fn check_free(&self, name: &str, tool: Object<'_>) -> Result<(), ApiError> {
        if self.functions.tools.iter().any(|other| other.name == name) { Err(taken(tool)) } else { Ok(()) }
    }

    /// Adds a tool that clients run; false if it is none.
    fn add(&mut self, tool: Object<'_>, kind: &str) -> Result<bool, ApiError> {
        match kind {
            "function" => self.functions.add(tool, tools::nested_declaration(tool.map))?,
            "custom" => self.functions.add_custom(tool)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn taken(tool: Object<'_>) -> ApiError {
    tool.at("name").invalid("the model would see two tools of this name: rename one, or its namespace")
}

/// A tool with all fields that the protocol gives it.
fn echo(tool: Object<'_>, kind: &str) -> Value {
    let field = |name| tool.get(name).cloned().unwrap_or_default();
    let (name, description) = (field("name"), field("description"));
    if kind == "custom" {
        let format = tool.get("format").cloned().unwrap_or_else(|| json!({ "type": "text" }));
        return json!({ "type": kind, "name": name, "description": description, "format": format });
    }
    json!({
        "type": kind,
        "name": name,
        "description": description,
        "parameters": field("parameters"),
        "strict": field("strict"),
    })
}
