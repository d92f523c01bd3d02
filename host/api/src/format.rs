//! Reader of an answer's format: text, any JSON object, or JSON of a schema. Protocols differ in the field's name and shape.

use super::error::ApiError;
use super::json::{Object, Path, Value};
use super::raw::Json;
use model::limits::Limits;

/// Most characters of a schema's name.
const NAME: usize = 64;
/// The schema of any JSON object.
pub(crate) const OBJECT: &str = r#"{"type":"object"}"#;

/// Format that the answer must have.
#[derive(Debug, Clone)]
pub(crate) enum AnswerFormat {
    /// Any text.
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON of a schema.
    JsonSchema(SchemaFormat),
}

/// `json_schema`.
#[derive(Debug, Clone)]
pub(crate) struct SchemaFormat {
    /// The client's name for the schema; empty in Messages.
    pub(crate) name: String,
    /// The client's description of the schema.
    pub(crate) description: Option<String>,
    /// The schema, an object.
    pub(crate) schema: Json,
    /// Whether the client asks for `strict`. This server follows the schema in any case.
    pub(crate) strict: bool,
}

impl AnswerFormat {
    /// The JSON schema that the answer must satisfy.
    pub(crate) fn schema(&self) -> Option<String> {
        match self {
            Self::Text => None,
            Self::JsonObject => Some(OBJECT.to_owned()),
            Self::JsonSchema(format) => Some(format.schema.clone().into_string()),
        }
    }
}

/// Whether schemas have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// Each schema has a name (`OpenAI`).
    Named,
    /// Schemas have no names (Anthropic).
    Nameless,
}

/// Reads a format; an absent one is text. The fields of a schema are beside `type` (Responses, Messages) or in `json_schema` (Chat
/// Completions).
pub(crate) fn read(
    format: Option<Value<'_>>,
    path: Path<'_>,
    naming: Naming,
    limits: &Limits,
) -> Result<AnswerFormat, ApiError> {
    let Some(value) = format.filter(|value| !value.is_null()) else { return Ok(AnswerFormat::Text) };
    let format = Object::new(value, path)?;
    match format.required_string("type")? {
        "text" => Ok(AnswerFormat::Text),
        "json_object" => Ok(AnswerFormat::JsonObject),
        "json_schema" => {
            let inner = format.object("json_schema")?.unwrap_or(format);
            let name = match naming {
                Naming::Named => name(&inner)?,
                Naming::Nameless => "",
            };
            Ok(AnswerFormat::JsonSchema(SchemaFormat {
                name: name.to_owned(),
                description: inner.string("description")?.map(str::to_owned),
                schema: schema(inner.get("schema"), inner.at("schema"), limits)?,
                strict: inner.boolean("strict")?.unwrap_or(false),
            }))
        }
        _ => Err(path.field("type").invalid("expected \"text\", \"json_schema\" or \"json_object\"")),
    }
}

fn name<'a>(format: &Object<'a>) -> Result<&'a str, ApiError> {
    let name = format.required_string("name")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if name.is_empty() || name.len() > NAME || !name.bytes().all(is_plain) {
        return Err(format
            .at("name")
            .invalid(format_args!("expected 1 to {NAME} of A-Z, a-z, 0-9, _ and -")));
    }
    Ok(name)
}

/// Reads a JSON schema: an object within the limits of size and depth.
pub(crate) fn schema(value: Option<Value<'_>>, path: Path<'_>, limits: &Limits) -> Result<Json, ApiError> {
    let value = match value {
        Some(value @ Value::Object(_)) => value,
        Some(other) => return Err(path.expected("a JSON schema object", other)),
        None => return Err(path.missing("a JSON schema object")),
    };
    let (bytes, most) = (value.size(), limits.schema_bytes);
    if bytes > most {
        return Err(path.invalid(format_args!("at most {most} bytes of JSON, got {bytes}")));
    }
    if value.nests_deeper(limits.schema_depth) {
        return Err(path.invalid(format_args!("nested deeper than {} levels", limits.schema_depth)));
    }
    Ok(value.to_json())
}
