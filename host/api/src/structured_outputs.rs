//! Reader of vLLM's fields for structured output: `structured_outputs`, and the older `guided_…`.
//!
//! Names and meanings are those of vLLM's `StructuredOutputsParams` and, for the older fields, of its `GuidedDecodingParams`.

use super::error::ApiError;
use super::fields::{ANY_OBJECT, Field, Shape, TEXTS};
use super::format;
use super::json::{Object, Path, Value};
use grammar::TextGrammar;
use model::limits::Limits;

/// The fields.
pub(crate) const FIELDS: [Field; 5] = [
    Field::supported("guided_choice", TEXTS, GUIDED_NOTE),
    Field::supported("guided_grammar", Shape::Text, GUIDED_NOTE),
    Field::supported("guided_json", Shape::Either(&[ANY_OBJECT, Shape::Text]), GUIDED_NOTE),
    Field::supported("guided_regex", Shape::Text, GUIDED_NOTE),
    Field::supported(
        "structured_outputs",
        Shape::Object(&STRUCTURED_OUTPUTS),
        "one of its fields: the form of the answer (as in vLLM)",
    ),
];

const GUIDED_NOTE: &str = "the older name of the same in `structured_outputs`";

const STRUCTURED_OUTPUTS: [Field; 6] = [
    Field::supported("choice", TEXTS, "the answer is one of these texts"),
    Field::supported("grammar", Shape::Text, "a grammar in Lark; EBNF (`::=`) is refused"),
    Field::supported("json", Shape::Either(&[ANY_OBJECT, Shape::Text]), "a JSON schema, or its text"),
    Field::supported("json_object", Shape::Boolean, "`true`: a JSON object"),
    Field::supported("regex", Shape::Text, "a regular expression of the whole answer, without look-around"),
    Field::refused(
        "structural_tag",
        Shape::Any,
        &["{\"type\": \"structural_tag\"}"],
        "calls are described by `tools` and `tool_choice`",
    ),
];

/// Form that the answer must have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StructuredOutput {
    /// JSON of this schema.
    Schema(String),
    /// Text of this grammar.
    Grammar(TextGrammar),
}

/// Names of the forms in `structured_outputs`, each with the older field of the same meaning.
const FORMS: [(&str, &str); 4] = [
    ("json", "guided_json"),
    ("regex", "guided_regex"),
    ("choice", "guided_choice"),
    ("grammar", "guided_grammar"),
];

/// Reads the form that the fields ask for, if there is one.
///
/// # Errors
/// 400 where several fields ask for a form, or one can't be read.
pub(crate) fn read(body: &Object<'_>, limits: &Limits) -> Result<Option<StructuredOutput>, ApiError> {
    let inner = body.object("structured_outputs")?;
    let mut forms = Vec::new();
    for (name, older) in FORMS {
        let new = inner.as_ref().and_then(|inner| Some((inner.get(name)?, inner.at(name))));
        let old = body.get(older).map(|value| (value, body.at(older)));
        for (value, path) in new.into_iter().chain(old) {
            forms.push(form(name, value, path, limits)?);
        }
    }
    if let Some(inner) = &inner {
        if inner.boolean("json_object")?.unwrap_or(false) {
            forms.push(StructuredOutput::Schema(format::OBJECT.to_owned()));
        }
        if inner.get("structural_tag").is_some() {
            return Err(inner
                .at("structural_tag")
                .unsupported("calls are described by `tools` and `tool_choice`"));
        }
    }
    if forms.len() > 1 {
        let path = body.at("structured_outputs");
        return Err(path.invalid("an answer has one form: one of json, regex, choice, grammar, json_object"));
    }
    Ok(forms.pop())
}

fn form(name: &str, value: Value<'_>, path: Path<'_>, limits: &Limits) -> Result<StructuredOutput, ApiError> {
    let grammar = |syntax: &str, definition: String| {
        StructuredOutput::Grammar(TextGrammar { syntax: syntax.to_owned(), definition })
    };
    Ok(match name {
        "json" => StructuredOutput::Schema(schema(value, path, limits)?),
        "regex" => grammar("regex", text(value, path)?.to_owned()),
        "choice" => grammar("lark", format!("start: {}", choice(value, path)?)),
        _ => {
            let definition = text(value, path)?;
            if definition.lines().any(is_ebnf_rule) {
                return Err(
                    path.unsupported("expected a grammar in Lark (`start: …`), found rules with `::=`")
                );
            }
            grammar("lark", definition.to_owned())
        }
    })
}

/// Whether a grammar's line begins a rule of another notation than Lark.
fn is_ebnf_rule(line: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '<' | '>' | ' ');
    line.split_once("::=").is_some_and(|(name, _)| name.chars().all(is_name))
}

/// Reads a schema, which may be an object or its JSON text.
fn schema(value: Value<'_>, path: Path<'_>, limits: &Limits) -> Result<String, ApiError> {
    let Some(text) = value.as_str() else {
        return Ok(format::schema(Some(value), path, limits)?.into_string());
    };
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
    if !is_json || !text.trim_start().starts_with('{') || text.len() > limits.schema_bytes {
        let most = limits.schema_bytes;
        return Err(
            path.invalid(format_args!("expected a JSON schema object of at most {most} bytes, or its text"))
        );
    }
    Ok(text.to_owned())
}

/// The alternatives in a list of texts as a rule in Lark, which quotes texts as JSON does.
fn choice(value: Value<'_>, path: Path<'_>) -> Result<String, ApiError> {
    let list = value.as_list().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| path.expected("a list of texts, at least one", value))?;
    let quoted = |(index, item)| Ok(serde_json::Value::from(text(item, path.element(index))?).to_string());
    Ok(list.iter().enumerate().map(quoted).collect::<Result<Vec<_>, ApiError>>()?.join(" | "))
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
