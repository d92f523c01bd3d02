//! Tools of a request, for the parser and for the template, and what both protocols refuse in `tool_choice` and output formats.

use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::json::{Object, Path};
use crate::parser::contract::{Tool, ToolChoice, ToolKind};
use crate::prompt::ToolDeclaration;

/// Said wherever a request asks for output that must follow a grammar.
const NEEDS_CONSTRAINTS: &str = "needs constrained decoding, which this server does not have yet";

/// Fields of a function that templates see.
const FUNCTION_FIELDS: [&str; 4] = ["name", "description", "parameters", "strict"];

/// The functions that a request declares.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// For the parser.
    pub(crate) tools: Vec<Tool>,
    /// For the template.
    pub(crate) declarations: Vec<ToolDeclaration>,
}

impl Functions {
    /// Adds a function; its fields stand in `function`. `declaration` is shown to templates as it is.
    pub(crate) fn add(&mut self, function: Object<'_>, declaration: Value) -> Result<(), ApiError> {
        let name = function.required_string("name")?;
        if name.is_empty() {
            return Err(function.at("name").invalid("a tool needs a name"));
        }
        let parameters_json = match function.get("parameters") {
            None => "{}".to_owned(),
            Some(schema @ Value::Object(_)) => schema.to_string(),
            Some(other) => return Err(function.at("parameters").expected("a JSON schema object", other)),
        };
        self.tools.push(Tool {
            name: name.to_owned(),
            description: function.string("description")?.unwrap_or_default().to_owned(),
            kind: ToolKind::Function,
            parameters_json,
            strict: function.boolean("strict")?.unwrap_or(false),
            grammar: None,
        });
        self.declarations.push(ToolDeclaration { name: name.to_owned(), declaration });
        Ok(())
    }
}

/// The tools of a request, at most `max` of them.
pub(crate) fn list<'a>(body: &Object<'a>, max: usize) -> Result<&'a [Value], ApiError> {
    let tools = body.list("tools")?.unwrap_or_default();
    if tools.len() > max {
        return Err(body.at("tools").invalid(format_args!("at most {max} tools, got {}", tools.len())));
    }
    Ok(tools)
}

/// A flat declaration (Responses) in Chat Completions' shape: keys keep their order, absent ones stay absent.
pub(crate) fn nested_declaration(flat: &Map<String, Value>) -> Value {
    let known =
        |(key, value): &(&String, &Value)| FUNCTION_FIELDS.contains(&key.as_str()) && !value.is_null();
    let function: Map<String, Value> =
        flat.iter().filter(known).map(|(key, value)| (key.clone(), value.clone())).collect();
    json!({ "type": "function", "function": function })
}

/// `auto` and `none`; the rest needs constraints.
pub(crate) fn choice(body: &Object<'_>) -> Result<ToolChoice, ApiError> {
    let path = body.at("tool_choice");
    let choice = match body.get("tool_choice") {
        None => return Ok(ToolChoice::Auto),
        Some(Value::String(choice)) => choice.as_str(),
        Some(Value::Object(choice)) => match choice.get("type").and_then(Value::as_str) {
            Some("auto") => "auto",
            Some("none") => "none",
            _ => {
                return Err(
                    path.unsupported(format_args!("a forced or restricted choice {NEEDS_CONSTRAINTS}"))
                );
            }
        },
        Some(other) => return Err(path.expected("a string or an object", other)),
    };
    match choice {
        "auto" => Ok(ToolChoice::Auto),
        "none" => Ok(ToolChoice::None),
        "required" | "any" => Err(path.unsupported(format_args!("\"required\" {NEEDS_CONSTRAINTS}"))),
        _ => Err(path.invalid("expected \"auto\", \"none\", \"required\" or an object")),
    }
}

/// Only text is possible as output format.
pub(crate) fn check_format(format: Option<&Value>, path: Path<'_>) -> Result<(), ApiError> {
    let Some(value) = format.filter(|value| !value.is_null()) else { return Ok(()) };
    let format = Object::new(value, path)?;
    match format.required_string("type")? {
        "text" => Ok(()),
        kind @ ("json_schema" | "json_object") => {
            Err(path.unsupported(format_args!("\"{kind}\" {NEEDS_CONSTRAINTS}")))
        }
        _ => Err(path.field("type").invalid("expected \"text\", \"json_schema\" or \"json_object\"")),
    }
}
