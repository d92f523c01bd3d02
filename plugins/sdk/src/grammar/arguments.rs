//! What the arguments of one tool must be.

use serde_json::{Value, json};

use super::input::Input;
use super::lark::{self, literal};
use super::schema::{self, Follow};
use crate::{Tool, ToolKind};

/// Greatest length in bytes of a name as JSON; the scanner of calls keeps no more.
const NAME_BYTES: usize = 256;

/// What the arguments of a tool must be.
#[derive(Debug)]
pub enum ArgumentsRule {
    /// An object of this schema.
    Schema {
        /// A schema whose type is `object`.
        schema: Value,
        /// Whether what can't be expressed is an error.
        strict: bool,
    },
    /// Any object.
    Any,
    /// Text: the input of a custom tool, and its grammar where one is to be followed.
    Text(Option<Input>),
}

impl ArgumentsRule {
    /// The rule for `tool`. The schema counts if the tool is strict or, as far as it can be followed, if a call is demanded.
    pub(super) fn of(tool: &Tool, demanded: bool) -> Result<Self, String> {
        if tool.kind == ToolKind::Custom {
            return Ok(Self::Text(None));
        }
        if !tool.strict && !demanded {
            return Ok(Self::Any);
        }
        let schema =
            schema::parse(&tool.parameters_json, &format!("tool {:?}", tool.name)).and_then(|schema| {
                schema::of_object(schema)
                    .ok_or_else(|| format!("the schema of tool {:?} allows no object", tool.name))
            });
        match schema {
            Ok(schema) if tool.strict || !refers_elsewhere(&schema) => {
                Ok(Self::Schema { schema, strict: tool.strict })
            }
            Err(error) if tool.strict => Err(error),
            _ => Ok(Self::Any),
        }
    }

    /// Lark expression of the arguments as JSON. Text is the string `input` of an object then, and its grammar isn't followed.
    pub fn json(&self) -> String {
        let (schema, follow) = match self {
            Self::Schema { schema, strict: true } => (schema.clone(), Follow::Strictly),
            Self::Schema { schema, strict: false } => (schema.clone(), Follow::Leniently),
            Self::Any => (json!({"type": "object"}), Follow::Strictly),
            Self::Text(_) => {
                let string = schema::prepared(json!({"type": "string"}), Follow::Strictly);
                return format!("{} {} \"}}\"", literal("{\"input\": "), lark::json(&string));
            }
        };
        lark::json(&schema::prepared(schema, follow))
    }
}

/// A JSON object `{"name": NAME, "arguments": ARGUMENTS}`, as a Lark expression; `key` is what the format calls the arguments.
///
/// # Errors
/// The name is longer than parsers read.
pub fn named_json(name: &str, key: &str, arguments: &ArgumentsRule) -> Result<String, String> {
    keyed_json(["name", key], name, arguments)
}

/// [`named_json`] with other `keys`: that of the name, and that of the arguments.
///
/// # Errors
/// The name is longer than parsers read.
pub fn keyed_json(keys: [&str; 2], name: &str, arguments: &ArgumentsRule) -> Result<String, String> {
    let [name_key, key] = keys.map(|key| Value::from(key).to_string());
    let quoted = Value::from(name).to_string();
    if quoted.len() > NAME_BYTES || name.is_empty() {
        return Err(format!("tool {name:?}: the name has to have 1 to {NAME_BYTES} bytes"));
    }
    let head = literal(&format!("{{{name_key}: {quoted}, {key}: "));
    Ok(format!("{head} {} \"}}\"", arguments.json()))
}

/// Whether a schema refers to another document, which a lenient reading can't leave out.
fn refers_elsewhere(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(key, value)| match value {
            Value::String(target) if key == "$ref" => !target.starts_with('#'),
            _ => refers_elsewhere(value),
        }),
        Value::Array(items) => items.iter().any(refers_elsewhere),
        _ => false,
    }
}
