//! Reader of vLLM's fields for structured output: `structured_outputs`, and the older `guided_…`.
//!
//! Names and meanings are those of vLLM's `StructuredOutputsParams` and, for the older fields, of
//! its `GuidedDecodingParams`.

use super::error::ApiError;
use super::fields::{self, Row, Shape, table};
use super::format;
use super::json::{Field, JsonObject, Path, Value};
use crate::limits::RequestLimits;
use grammar::TextGrammar;

table! {
    pub(crate) FIELDS {
        GUIDED_CHOICE: Field<Value<'_>> = Field::new("guided_choice", GUIDED_NOTE).of(fields::TEXTS);
        GUIDED_GRAMMAR: Field<Value<'_>> = Field::new("guided_grammar", GUIDED_NOTE).of(Shape::Text);
        GUIDED_JSON: Field<Value<'_>> = Field::new("guided_json", GUIDED_NOTE).of(SCHEMA);
        GUIDED_REGEX: Field<Value<'_>> = Field::new("guided_regex", GUIDED_NOTE).of(Shape::Text);
        STRUCTURED_OUTPUTS: Field<JsonObject<'_>> =
            Field::new("structured_outputs", "one of its fields: the form of the answer (as in vLLM)")
                .of(Shape::Object(INNER));
    }
}

const GUIDED_NOTE: &str = "the older name of the same in `structured_outputs`";
const SCHEMA: Shape = Shape::Either(&[fields::ANY_OBJECT, Shape::Text]);

table! {
    pub(crate) INNER {
        CHOICE: Field<Value<'_>> = Field::new("choice", "the answer is one of these texts").of(fields::TEXTS);
        GRAMMAR: Field<Value<'_>> =
            Field::new("grammar", "a grammar in Lark; EBNF (`::=`) is refused").of(Shape::Text);
        JSON: Field<Value<'_>> = Field::new("json", "a JSON schema, or its text").of(SCHEMA);
        JSON_OBJECT: Field<bool> = Field::new("json_object", "`true`: a JSON object");
        REGEX: Field<Value<'_>> =
            Field::new("regex", "a regular expression of the whole answer, without look-around")
                .of(Shape::Text);
        Row::refused(
            "structural_tag",
            &["{\"type\": \"structural_tag\"}"],
            "calls are described by `tools` and `tool_choice`",
        );
    }
}

/// Form that the answer must have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StructuredOutput {
    /// JSON of this schema.
    Schema(String),
    /// Text of this grammar.
    Grammar(TextGrammar),
}

/// Reads a form.
type ReadForm = fn(Value<'_>, Path<'_>, &RequestLimits) -> Result<StructuredOutput, ApiError>;

/// The forms in `structured_outputs`, each with the older field of the same meaning.
const FORMS: [(Field<Value<'_>>, Field<Value<'_>>, ReadForm); 4] = [
    (JSON, GUIDED_JSON, json),
    (REGEX, GUIDED_REGEX, regex),
    (CHOICE, GUIDED_CHOICE, choice),
    (GRAMMAR, GUIDED_GRAMMAR, lark),
];

/// Reads the form that the fields ask for, if there is one.
///
/// # Errors
/// 400 where several fields ask for a form, or one can't be read.
pub(crate) fn read(
    body: &JsonObject<'_>,
    limits: &RequestLimits,
) -> Result<Option<StructuredOutput>, ApiError> {
    let inner = body.get(STRUCTURED_OUTPUTS)?;
    let mut forms = Vec::new();
    for (field, older, form) in FORMS {
        let new = inner.as_ref().and_then(|inner| Some((inner.value(field)?, inner.at(field))));
        let old = body.value(older).map(|value| (value, body.at(older)));
        for (value, path) in new.into_iter().chain(old) {
            forms.push(form(value, path, limits)?);
        }
    }
    if let Some(inner) = &inner
        && inner.get(JSON_OBJECT)?.unwrap_or(false)
    {
        forms.push(StructuredOutput::Schema(format::OBJECT.to_owned()));
    }
    if forms.len() > 1 {
        let path = body.at(STRUCTURED_OUTPUTS);
        return Err(path.invalid("an answer has one form: one of json, regex, choice, grammar, json_object"));
    }
    Ok(forms.pop())
}

fn grammar(syntax: &str, definition: String) -> StructuredOutput {
    StructuredOutput::Grammar(TextGrammar { syntax: syntax.to_owned(), definition })
}

fn regex(value: Value<'_>, path: Path<'_>, _: &RequestLimits) -> Result<StructuredOutput, ApiError> {
    Ok(grammar("regex", text(value, path)?.to_owned()))
}

fn lark(value: Value<'_>, path: Path<'_>, _: &RequestLimits) -> Result<StructuredOutput, ApiError> {
    let definition = text(value, path)?;
    if definition.lines().any(is_ebnf_rule) {
        return Err(path.unsupported("expected a grammar in Lark (`start: …`), found rules with `::=`"));
    }
    Ok(grammar("lark", definition.to_owned()))
}

/// Whether a grammar's line begins a rule of another notation than Lark.
fn is_ebnf_rule(line: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '<' | '>' | ' ');
    line.split_once("::=").is_some_and(|(name, _)| name.chars().all(is_name))
}

/// Reads a schema, which may be an object or its JSON text.
fn json(value: Value<'_>, path: Path<'_>, limits: &RequestLimits) -> Result<StructuredOutput, ApiError> {
    let Some(text) = value.as_str() else {
        return Ok(StructuredOutput::Schema(format::schema(Some(value), path, limits)?.into_string()));
    };
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
    if !is_json || !text.trim_start().starts_with('{') || text.len() > limits.schema_bytes {
        let most = limits.schema_bytes;
        return Err(
            path.invalid(format_args!("expected a JSON schema object of at most {most} bytes, or its text"))
        );
    }
    Ok(StructuredOutput::Schema(text.to_owned()))
}

/// The alternatives in a list of texts as a rule in Lark, which quotes texts as JSON does.
fn choice(value: Value<'_>, path: Path<'_>, _: &RequestLimits) -> Result<StructuredOutput, ApiError> {
    let list = value.as_list().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| path.expected("a list of texts, at least one", value))?;
    let quoted = |(index, item)| Ok(serde_json::Value::from(text(item, path.element(index))?).to_string());
    let texts = list.iter().enumerate().map(quoted).collect::<Result<Vec<_>, ApiError>>()?;
    Ok(grammar("lark", format!("start: {}", texts.join(" | "))))
}

fn text<'a>(value: Value<'a>, path: Path<'_>) -> Result<&'a str, ApiError> {
    value
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| path.expected("a text that isn't empty", value))
}

impl StructuredOutput {
    /// The answer's schema, and its grammar, of which one at most is there.
    pub(crate) fn forms(this: Option<Self>) -> (Option<String>, Option<TextGrammar>) {
        match this {
            None => (None, None),
            Some(Self::Schema(schema)) => (Some(schema), None),
            Some(Self::Grammar(grammar)) => (None, Some(grammar)),
        }
    }
}
