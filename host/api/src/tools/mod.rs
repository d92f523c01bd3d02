//! Reader of a request's tools, for the parser and for the template. Templates get functions as
//! they are declared. A custom tool takes text; templates, which know functions only, get it as a
//! function with one string argument, `input`.

mod choice;
mod domains;

use serde_json::json;

use super::error::ApiError;
use super::fields::{self, Row, Shape, table};
use super::json::{Field, JsonObject, List, Required, Value};
use super::raw::{self, Json};
use super::request::Defaults;
use contract::ToolKind;
use grammar::{TextGrammar, ToolDefinition};
use prompt::ToolDeclaration;

pub(crate) use choice::{ALLOWED_FIELDS, ALLOWED_TOOLS, Allowed, ToolChoiceField, choice};
pub(crate) use domains::{ALLOWED_DOMAINS, BLOCKED_DOMAINS, DOMAIN_FIELDS, domains};
pub(crate) const TOOLS: Field<List<'_>> = Field::new("tools", "at most 512");

/// `tool_choice` of `OpenAI`'s protocols.
pub(crate) const TOOL_CHOICE: Field<Value<'_>> = Field::new("tool_choice", fields::FORCED_NOTE);

/// What a tool of this type, or the choice of one, has in Chat Completions.
pub(crate) const FUNCTION: Required<JsonObject<'_>> =
    Field::new("function", "").of(Shape::Object(FUNCTION_FIELDS)).required();
/// What a tool of this type, or the choice of one, has in Chat Completions.
pub(crate) const CUSTOM: Required<JsonObject<'_>> =
    Field::new("custom", "").of(Shape::Object(CUSTOM_FIELDS)).required();

table! {
    pub(crate) FUNCTION_FIELDS {
        fields::TOOL_NAME;
        fields::DESCRIPTION;
        PARAMETERS: Field<JsonObject<'_>> = Field::new("parameters", "a JSON schema");
        fields::STRICT;
    }
}

table! {
    pub(crate) CUSTOM_FIELDS {
        fields::TOOL_NAME;
        fields::DESCRIPTION;
        FORMAT: Field<JsonObject<'_>> = Field::new("format", "`text`, or a `grammar` that the model is told of");
    }
}

const GRAMMAR: Field<JsonObject<'_>> = Field::new("grammar", "");
const SYNTAX: Required<&str> = Field::new("syntax", "").required();
const DEFINITION: Required<&str> = Field::new("definition", "").required();

/// The tools of a request that the client runs: functions and custom tools.
#[derive(Debug, Default)]
pub(crate) struct ClientTools {
    /// The tools, for parser and grammar.
    pub(crate) tools: Vec<ToolDefinition>,
    /// The tools, for the template.
    pub(crate) declarations: Vec<ToolDeclaration>,
}

impl ClientTools {
    /// Adds a function that the model knows as `name`. `function` has `strict`, and in the field
    /// `schema` the schema of the arguments. Templates get `declaration` unchanged.
    pub(crate) fn add(
        &mut self,
        name: &str,
        function: JsonObject<'_>,
        schema: Field<JsonObject<'_>>,
        declaration: Json,
    ) -> Result<(), ApiError> {
        check_name(name, &function)?;
        let parameters = match function.value(schema) {
            None => "{}".to_owned(),
            Some(schema @ Value::Object(_)) => schema.to_json().into_string(),
            Some(other) => return Err(function.at(schema).expected("a JSON schema object", other)),
        };
        self.tools.push(ToolDefinition {
            name: name.to_owned(),
            kind: ToolKind::Function,
            schema: parameters,
            strict: function.get(fields::STRICT)?.unwrap_or(false),
            grammar: None,
        });
        let declaration = declaration.into_string();
        self.declarations.push(ToolDeclaration { name: name.to_owned(), declaration });
        Ok(())
    }

    /// Adds a function of the server's making, with its schema.
    pub(crate) fn add_own(&mut self, name: &str, description: &str, parameters: &Json) {
        self.tools.push(ToolDefinition {
            name: name.to_owned(),
            kind: ToolKind::Function,
            schema: parameters.clone().into_string(),
            strict: false,
            grammar: None,
        });
        let fields = [
            ("name", Json::of(name)),
            ("description", Json::of(description)),
            ("parameters", parameters.clone()),
        ];
        let declaration = function(fields.into_iter()).into_string();
        self.declarations.push(ToolDeclaration { name: name.to_owned(), declaration });
    }

    /// Whether a tool has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// Adds a custom tool that the model knows as `name`; `custom` has `description` and `format`.
    /// The tool's description for the model contains the grammar's text, whether or not the engine
    /// can follow the grammar.
    pub(crate) fn add_custom(&mut self, name: &str, custom: JsonObject<'_>) -> Result<(), ApiError> {
        check_name(name, &custom)?;
        let description = custom.get(fields::DESCRIPTION)?.unwrap_or_default();
        let grammar = grammar(&custom)?;
        let declaration = declaration_of_custom(name, description, grammar.as_ref());
        self.tools.push(ToolDefinition {
            name: name.to_owned(),
            kind: ToolKind::Custom,
            schema: "{}".to_owned(),
            strict: false,
            grammar,
        });
        self.declarations.push(ToolDeclaration { name: name.to_owned(), declaration });
        Ok(())
    }
}

/// Most characters of a name.
const LONGEST_NAME: usize = 128;

/// Refuses an invalid name. `name` is the one that the model sees for `tool`; in a namespace it
/// begins with the namespace's name.
pub(crate) fn check_name(name: &str, tool: &JsonObject<'_>) -> Result<(), ApiError> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte));
    if plain && (1..=LONGEST_NAME).contains(&name.len()) {
        return Ok(());
    }
    Err(tool.at(fields::NAME).invalid(format_args!(
        "expected a tool's name of 1 to {LONGEST_NAME} characters out of A-Z, a-z, 0-9, `_`, `.`, `:` and `-`"
    )))
}

/// The grammar in a custom tool's `format`, if there is one: flat as in Responses, or inside
/// `grammar` as in Chat Completions.
fn grammar(custom: &JsonObject<'_>) -> Result<Option<TextGrammar>, ApiError> {
    let Some(format) = custom.get(FORMAT)? else { return Ok(None) };
    match format.require(fields::TYPE)? {
        "text" => Ok(None),
        "grammar" => {
            let grammar = format.get(GRAMMAR)?.unwrap_or(format);
            let syntax = grammar.require(SYNTAX)?;
            if !["lark", "regex"].contains(&syntax) {
                return Err(grammar.at(SYNTAX).invalid("expected \"lark\" or \"regex\""));
            }
            let definition = grammar.require(DEFINITION)?.to_owned();
            Ok(Some(TextGrammar { syntax: syntax.to_owned(), definition }))
        }
        _ => Err(format.at(fields::TYPE).invalid("expected \"text\" or \"grammar\"")),
    }
}

/// Declaration of a custom tool as a function, since chat templates know functions only.
fn declaration_of_custom(name: &str, description: &str, grammar: Option<&TextGrammar>) -> String {
    let input = match grammar {
        None => "The tool's input, as plain text.".to_owned(),
        Some(TextGrammar { syntax, definition }) => {
            format!("The tool's input, as plain text that this {syntax} grammar accepts:\n{definition}")
        }
    };
    let properties = json!({ "input": { "type": "string", "description": input } });
    let parameters = json!({ "type": "object", "properties": properties, "required": ["input"] });
    let function = json!({ "name": name, "description": description, "parameters": parameters });
    json!({ "type": "function", "function": function }).to_string()
}

/// Bounds on the tools of a request, less what has been read.
#[derive(Debug, Clone)]
pub(crate) struct ToolBounds {
    /// Most tools.
    pub(crate) tools: usize,
    /// Number of JSON values left for tools, of which templates get a tree.
    values: usize,
    /// Bytes of JSON left for tools.
    bytes: usize,
}

impl ToolBounds {
    /// The server's bounds, for one request.
    pub(crate) fn new(defaults: &Defaults) -> Self {
        let limits = &defaults.limits;
        Self { tools: limits.tools, values: limits.tool_values, bytes: defaults.tool_bytes }
    }

    /// No bounds, for tools whose size was checked before.
    pub(crate) fn checked() -> Self {
        Self { tools: usize::MAX, values: usize::MAX, bytes: usize::MAX }
    }
}

/// Reads the list `tools` of an object and takes its size off `bounds`. An absent list is empty.
pub(crate) fn list<'a>(owner: &'a JsonObject<'_>, bounds: &mut ToolBounds) -> Result<List<'a>, ApiError> {
    let tools = owner.list(TOOLS)?;
    let (path, size, values) =
        (tools.path, Value::List(tools.elements).size(), Value::List(tools.elements).count());
    tools.check_len(bounds.tools, "tools")?;
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

/// Makes a flat declaration (Responses) one of Chat Completions' shape, with the `name` that the
/// model knows. Fields keep their order; absent ones stay absent.
pub(crate) fn nested_declaration(name: &str, flat: JsonObject<'_>) -> Json {
    let is_shown = |key: &str| FUNCTION_FIELDS.iter().any(|field| field.name == key);
    let fields = flat.fields().filter(|(key, value)| is_shown(key) && !value.is_null());
    function(fields.map(|(key, value)| (key, if key == "name" { Json::of(name) } else { value.to_json() })))
}

/// The declaration of a function with `fields`, in Chat Completions' shape.
pub(crate) fn function<'a>(fields: impl Iterator<Item = (&'a str, Json)>) -> Json {
    raw::object([("type", Json::of("function")), ("function", raw::object(fields))])
}
