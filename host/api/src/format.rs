//! Reader of an answer's format: text, any JSON object, or JSON of a schema. Protocols differ in
//! the field's name and shape.

use super::error::ApiError;
use super::fields::{self, Row, Shape, table};
use super::json::{Field, JsonObject, Path, Required, Value};
use super::raw::Json;
use crate::limits::RequestLimits;

/// Most characters of a schema's name.
const LONGEST_NAME: usize = 64;
/// The schema of any JSON object.
pub(crate) const OBJECT: &str = r#"{"type":"object"}"#;

/// `json_schema` of a format, in Chat Completions.
pub(crate) const JSON_SCHEMA: Required<JsonObject<'_>> =
    Field::new("json_schema", "").of(Shape::Object(JSON_SCHEMA_FIELDS)).required();

table! {
    pub(crate) JSON_SCHEMA_FIELDS {
        fields::NAME;
        fields::DESCRIPTION;
        SCHEMA;
        fields::STRICT;
    }
}

pub(crate) const SCHEMA: Required<JsonObject<'_>> = Field::new("schema", "at most 256 KiB").required();

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

/// Reads the format that `owner` has in `field`; an absent one is text. The fields of a schema are
/// beside `type` (Responses, Messages) or in `json_schema` (Chat Completions).
pub(crate) fn read(
    owner: &JsonObject<'_>,
    field: Field<JsonObject<'_>>,
    naming: Naming,
    limits: &RequestLimits,
) -> Result<AnswerFormat, ApiError> {
    let Some(format) = owner.get(field)? else { return Ok(AnswerFormat::Text) };
    match format.require(fields::TYPE)? {
        "text" => Ok(AnswerFormat::Text),
        "json_object" => Ok(AnswerFormat::JsonObject),
        "json_schema" => {
            let inner = format.get(JSON_SCHEMA.optional())?.unwrap_or(format);
            let name = match naming {
                Naming::Named => name(&inner)?,
                Naming::Nameless => "",
            };
            Ok(AnswerFormat::JsonSchema(SchemaFormat {
                name: name.to_owned(),
                description: inner.get(fields::DESCRIPTION)?.map(str::to_owned),
                schema: schema(inner.value(SCHEMA), inner.at(SCHEMA), limits)?,
                strict: inner.get(fields::STRICT)?.unwrap_or(false),
            }))
        }
        _ => Err(format.at(fields::TYPE).invalid("expected \"text\", \"json_schema\" or \"json_object\"")),
    }
}

fn name<'a>(format: &JsonObject<'a>) -> Result<&'a str, ApiError> {
    let name = format.require(fields::NAME)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_plain) {
        let what = format_args!("expected 1 to {LONGEST_NAME} of A-Z, a-z, 0-9, _ and -");
        return Err(format.at(fields::NAME).invalid(what));
    }
    Ok(name)
}

/// Reads a JSON schema: an object within the limits of size and depth.
pub(crate) fn schema(
    value: Option<Value<'_>>,
    path: Path<'_>,
    limits: &RequestLimits,
) -> Result<Json, ApiError> {
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
