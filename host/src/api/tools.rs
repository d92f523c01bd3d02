//! Tools of a request, for the parser and for the template, and what all protocols refuse of output formats. Functions are shown to
//! templates as they are declared; a custom tool takes text, and templates, which know functions only, are shown a function with
//! one string, `input`.

mod choice;
mod name;

use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::json::{Object, Path};
use crate::parser::contract::{Grammar, Tool, ToolKind};
use crate::prompt::ToolDeclaration;

pub(crate) use choice::{Allowed, Choice, choice};

/// Said wherever a request asks for output that must follow a grammar.
const NEEDS_CONSTRAINTS: &str = "needs constrained decoding, which this server does not have yet";

/// Fields of a function that templates see.
const FUNCTION_FIELDS: [&str; 4] = ["name", "description", "parameters", "strict"];

/// The tools that a request declares: functions and custom tools.
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
        let name = name::declared(&function)?;
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

    /// Adds a custom tool; `name`, `description` and `format` stand in `custom`. Its grammar is told to the model in words: output
    /// is not constrained by it.
    pub(crate) fn add_custom(&mut self, custom: Object<'_>) -> Result<(), ApiError> {
        let name = name::declared(&custom)?;
        let description = custom.string("description")?.unwrap_or_default();
        let grammar = grammar(&custom)?;
        let declaration = declaration_of_custom(name, description, grammar.as_ref());
        self.tools.push(Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            kind: ToolKind::Custom,
            parameters_json: "{}".to_owned(),
            strict: false,
            grammar,
        });
        self.declarations.push(ToolDeclaration { name: name.to_owned(), declaration });
        Ok(())
    }
}

/// The grammar of a custom tool's `format`, if it has one: flat as in Responses, or inside `grammar` as in Chat Completions.
fn grammar(custom: &Object<'_>) -> Result<Option<Grammar>, ApiError> {
    let Some(format) = custom.object("format")? else { return Ok(None) };
    match format.required_string("type")? {
        "text" => Ok(None),
        "grammar" => {
            let grammar = format.object("grammar")?.unwrap_or(format);
            let syntax = grammar.required_string("syntax")?;
            if !["lark", "regex"].contains(&syntax) {
                return Err(grammar.at("syntax").invalid("expected \"lark\" or \"regex\""));
            }
            let definition = grammar.required_string("definition")?.to_owned();
            Ok(Some(Grammar { syntax: syntax.to_owned(), definition }))
        }
        _ => Err(format.at("type").invalid("expected \"text\" or \"grammar\"")),
    }
}

/// A custom tool as a function, which is all that chat templates know.
fn declaration_of_custom(name: &str, description: &str, grammar: Option<&Grammar>) -> Value {
    let input = match grammar {
        None => "The tool's input, as plain text.".to_owned(),
        Some(Grammar { syntax, definition }) => {
            format!("The tool's input, as plain text that this {syntax} grammar accepts:\n{definition}")
        }
    };
    let properties = json!({ "input": { "type": "string", "description": input } });
    let parameters = json!({ "type": "object", "properties": properties, "required": ["input"] });
    let function = json!({ "name": name, "description": description, "parameters": parameters });
    json!({ "type": "function", "function": function })
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
