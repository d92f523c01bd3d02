//! Tools of a request, for the parser and for the template. Functions are shown to templates as they are declared; a custom tool takes
//! text, and templates, which know functions only, are shown a function with one string, `input`.

mod choice;
mod name;

use serde_json::json;

use super::error::ApiError;
use super::json::{List, Object, Value};
use super::raw::{self, Json};
use super::request::Defaults;
use crate::parser::contract::{Grammar, Tool, ToolKind};
use crate::prompt::ToolDeclaration;

pub(crate) use choice::{Allowed, ToolChoiceField, choice};

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
    /// Adds a function that the model knows as `name`; the rest stands in `function`, its schema in the field `schema`.
    /// `declaration` is shown to templates as it is.
    pub(crate) fn add(
        &mut self,
        name: &str,
        function: Object<'_>,
        schema: &str,
        declaration: Json,
    ) -> Result<(), ApiError> {
        name::check(name, &function)?;
        let parameters_json = match function.get(schema) {
            None => "{}".to_owned(),
            Some(schema @ Value::Object(_)) => schema.to_json().into_string(),
            Some(other) => return Err(function.at(schema).expected("a JSON schema object", other)),
        };
        self.tools.push(Tool {
            name: name.to_owned(),
            description: function.string("description")?.unwrap_or_default().to_owned(),
            kind: ToolKind::Function,
            parameters_json,
            strict: function.boolean("strict")?.unwrap_or(false),
            grammar: None,
        });
        let declaration = declaration.into_string();
        self.declarations.push(ToolDeclaration { name: name.to_owned(), declaration });
        Ok(())
    }

    /// Adds a custom tool that the model knows as `name`; `description` and `format` stand in `custom`. Its grammar is told to
    /// the model in words, whether or not the engine can follow it.
    pub(crate) fn add_custom(&mut self, name: &str, custom: Object<'_>) -> Result<(), ApiError> {
        name::check(name, &custom)?;
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
fn declaration_of_custom(name: &str, description: &str, grammar: Option<&Grammar>) -> String {
    let input = match grammar {
        None => "The tool's input, as plain text.".to_owned(),
        Some(Grammar { syntax, definition }) => {
            format!("The tool's input, as plain text that this {syntax} grammar accepts:\n{definition}")
        }
    };
    let properties = json!({ "input": { "type": "string", "description": input } });
    let parameters = json!({ "type": "object", "properties": properties, "required": ["input"] });
    let function = json!({ "name": name, "description": description, "parameters": parameters });
    json!({ "type": "function", "function": function }).to_string()
}

/// What the tools of a request may yet be, together.
#[derive(Debug)]
pub(crate) struct ToolBounds {
    /// How many.
    pub(crate) tools: usize,
    /// JSON values that they consist of: templates see a tree of them.
    values: usize,
    /// Bytes of their JSON.
    bytes: usize,
}

impl ToolBounds {
    /// Those of this server.
    pub(crate) fn new(defaults: &Defaults) -> Self {
        let limits = &defaults.limits;
        Self {
            tools: limits.tools,
            values: limits.tool_values,
            bytes: limits.conversation_bytes(defaults.context),
        }
    }
}

/// The list `tools` of an object, taken from what the request may yet have of them; an empty one where it has none.
pub(crate) fn list<'a>(owner: &Object<'a>, bounds: &mut ToolBounds) -> Result<List<'a>, ApiError> {
    let (path, tools) = (owner.at("tools"), owner.list_or_empty("tools")?);
    let (size, values) = (Value::List(tools).size(), Value::List(tools).count());
    if tools.is_longer_than(bounds.tools) {
        return Err(path.invalid(format_args!("at most {} tools, got {}", bounds.tools, tools.len())));
    }
    bounds.bytes = bounds.bytes.checked_sub(size).ok_or_else(|| {
        let left = bounds.bytes;
        path.invalid(format_args!(
            "{size} bytes of JSON, of which this model's context can hold {left} at the most"
        ))
    })?;
    bounds.values = bounds
        .values
        .checked_sub(values)
        .ok_or_else(|| path.invalid(format_args!("at most {} JSON values, got {values}", bounds.values)))?;
    Ok(tools)
}

/// A flat declaration (Responses) in Chat Completions' shape, under the name that the model knows: keys keep their order, absent
/// ones stay absent.
pub(crate) fn nested_declaration(name: &str, flat: Object<'_>) -> Json {
    let fields = flat.fields().filter(|(key, value)| FUNCTION_FIELDS.contains(key) && !value.is_null());
    function(fields.map(|(key, value)| (key, if key == "name" { Json::of(name) } else { value.to_json() })))
}

/// The declaration of a function with these fields, in Chat Completions' shape.
pub(crate) fn function<'a>(fields: impl Iterator<Item = (&'a str, Json)>) -> Json {
    raw::object([("type", Json::of("function")), ("function", raw::object(fields))])
}
