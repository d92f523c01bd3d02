//! What the arguments of one tool must be.

use serde_json::{Value, json};

use super::input::Input;
use super::schema::{self, Follow};
use super::writer::{self, literal};
use crate::ToolDefinition;
use contract::ToolKind;

/// What the arguments of a tool must be.
#[derive(Debug)]
pub(crate) enum ArgumentsRule {
    /// An object of this schema.
    Schema {
        /// A schema whose type is `object`.
        schema: Value,
        /// Whether what can't be expressed is an error.
        strict: bool,
    },
    /// Any object.
    Any,
    /// An object that has none but these keys, in any order.
    Keys(Vec<String>),
    /// Text: the input of a custom tool, and its grammar where one is to be followed.
    Text(Option<Input>),
}

impl ArgumentsRule {
    /// The rule for `tool`. The schema counts if the tool is strict or, as far as it can be
    /// followed, `by_schema`; otherwise its keys, if it allows no others.
    pub(super) fn of(tool: &ToolDefinition, by_schema: bool) -> Result<Self, String> {
        if tool.kind == ToolKind::Custom {
            return Ok(Self::Text(None));
        }
        let schema = schema::parse(&tool.schema, &format!("tool {:?}", tool.name));
        if !tool.strict && !by_schema {
            let keys = schema.ok().and_then(|schema| schema::sole_keys(&schema));
            return Ok(keys.map_or(Self::Any, Self::Keys));
        }
        let schema = schema.and_then(|schema| {
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

    /// The rule for a custom tool whose input is a string of JSON.
    ///
    /// # Errors
    /// One line naming the tool: what of its grammar can't be followed there.
    pub(super) fn of_input(input: &Input) -> Result<Self, String> {
        let text = json!({"type": "string", "pattern": input.pattern()?});
        let schema = json!({"type": "object", "properties": {"input": text}, "required": ["input"], "additionalProperties": false});
        Ok(Self::Schema { schema, strict: true })
    }

    /// Lark expression of the arguments as JSON. Text is the string `input` of an object then, and
    /// its grammar isn't followed.
    pub(crate) fn json(&self) -> String {
        let (schema, follow) = match self {
            Self::Schema { schema, strict: true } => (schema.clone(), Follow::Strictly),
            Self::Schema { schema, strict: false } => (schema.clone(), Follow::Leniently),
            Self::Any => (json!({"type": "object"}), Follow::Strictly),
            Self::Keys(keys) => (schema::of_keys(keys), Follow::Strictly),
            Self::Text(_) => {
                let string = schema::prepared(json!({"type": "string"}), Follow::Strictly);
                return format!("{} {} \"}}\"", literal("{\"input\": "), writer::json(&string));
            }
        };
        writer::json(&schema::prepared(schema, follow))
    }
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
