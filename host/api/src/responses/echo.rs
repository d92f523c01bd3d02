//! Reader of the request fields that the response object repeats.

use super::super::error::ApiError;
use super::super::format::{self, AnswerFormat, Naming, SchemaFormat};
use super::super::json::{Object, Value};
use super::super::metadata;
use super::super::options;
use super::super::raw::Json;
use super::super::request::{Defaults, ReasoningEvents};
use super::continuation::Continuation;
use super::resource::{ConversationEcho, Echo, FormatEcho, ReasoningEcho, TextEcho};
use model::limits::Limits;

/// Longest identifier of a user, in characters.
const SAFETY_IDENTIFIER: usize = 128;

/// Reads and checks all fields of `body` that the response object repeats; `tools` are the tools as it shows them.
pub(super) fn read(
    body: &Object<'_>,
    continuation: &Continuation,
    tools: Vec<Json>,
    format: &AnswerFormat,
    defaults: &Defaults,
) -> Result<Echo, ApiError> {
    let text = |name| -> Result<Option<String>, ApiError> { Ok(body.string(name)?.map(str::to_owned)) };
    Ok(Echo {
        model: body.required_string("model")?.to_owned(),
        previous_response_id: text("previous_response_id")?,
        conversation: conversation(body)?,
        store: continuation.store,
        background: body.boolean("background")?.unwrap_or(false),
        instructions: text("instructions")?,
        tools,
        tool_choice: body.get("tool_choice").map_or_else(|| Json::of("auto"), Value::to_json),
        truncation: truncation(body)?,
        parallel_tool_calls: body.boolean("parallel_tool_calls")?.unwrap_or(true),
        text: text_options(body, format)?,
        top_p: body.number("top_p", 0.0..=1.0)?.unwrap_or(defaults.top_p),
        presence_penalty: body.number("presence_penalty", -2.0..=2.0)?.unwrap_or(0.0),
        frequency_penalty: body.number("frequency_penalty", -2.0..=2.0)?.unwrap_or(0.0),
        top_logprobs: options::alternatives(body, "top_logprobs", &defaults.limits)?.unwrap_or(0),
        temperature: body.number("temperature", 0.0..=2.0)?.unwrap_or(defaults.temperature),
        reasoning: reasoning(body)?,
        max_output_tokens: body.count("max_output_tokens", 1)?,
        // The protocol counts only calls that the server runs: calls of clients' tools end the response.
        max_tool_calls: body.count("max_tool_calls", 1)?,
        metadata: metadata::read(body, defaults.limits.metadata)?,
        safety_identifier: safety_identifier(body)?,
        prompt_cache_key: text("prompt_cache_key")?,
    })
}

/// `conversation`, which may be an id or an object with one.
pub(super) fn conversation(body: &Object<'_>) -> Result<Option<ConversationEcho>, ApiError> {
    let id = match body.get("conversation") {
        Some(Value::Object(_)) => {
            body.object("conversation")?.map(|object| object.required_string("id")).transpose()?
        }
        _ => body.string("conversation")?,
    };
    Ok(id.map(|id| ConversationEcho { id: id.to_owned() }))
}

/// The encoding of reasoning in events: `Summary` if the request sets `summary`, else the server's default.
pub(super) fn dialect(reasoning: &ReasoningEcho, defaults: &Defaults) -> ReasoningEvents {
    if reasoning.summary.is_some() { ReasoningEvents::Summary } else { defaults.reasoning_events }
}

/// `text.format`.
pub(super) fn format(body: &Object<'_>, limits: &Limits) -> Result<AnswerFormat, ApiError> {
    match body.object("text")? {
        Some(text) => format::read(text.get("format"), text.at("format"), Naming::Named, limits),
        None => Ok(AnswerFormat::Text),
    }
}

fn text_options(body: &Object<'_>, format: &AnswerFormat) -> Result<TextEcho, ApiError> {
    let Some(text) = body.object("text")? else { return Ok(TextEcho::default()) };
    let verbosity = match text.string("verbosity")? {
        None => None,
        Some(verbosity @ ("low" | "medium" | "high")) => Some(verbosity.to_owned()),
        Some(_) => return Err(text.at("verbosity").invalid("expected low, medium or high")),
    };
    Ok(TextEcho { format: format_echo(format.clone()), verbosity })
}

fn format_echo(format: AnswerFormat) -> FormatEcho {
    match format {
        AnswerFormat::Text => FormatEcho::Text,
        AnswerFormat::JsonObject => FormatEcho::JsonObject,
        AnswerFormat::JsonSchema(SchemaFormat { name, description, schema, strict }) => {
            FormatEcho::JsonSchema { name, description, schema, strict }
        }
    }
}

fn truncation(body: &Object<'_>) -> Result<&'static str, ApiError> {
    match body.string("truncation")? {
        None | Some("disabled") => Ok("disabled"),
        Some("auto") => Ok("auto"),
        Some(_) => Err(body.at("truncation").invalid("expected auto or disabled")),
    }
}

fn safety_identifier(body: &Object<'_>) -> Result<Option<String>, ApiError> {
    match body.string("safety_identifier")? {
        Some(text) if text.chars().count() > SAFETY_IDENTIFIER => {
            let what = format_args!("at most {SAFETY_IDENTIFIER} characters: send a hash of what is longer");
            Err(body.at("safety_identifier").invalid(what))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

fn reasoning(body: &Object<'_>) -> Result<ReasoningEcho, ApiError> {
    let Some(reasoning) = body.object("reasoning")? else { return Ok(ReasoningEcho::default()) };
    let effort = options::effort(&reasoning, "effort")?.map(str::to_owned);
    for name in ["summary", "generate_summary"] {
        match reasoning.string(name)? {
            None | Some("none") => {}
            Some(summary @ ("auto" | "concise" | "detailed")) => {
                return Ok(ReasoningEcho { effort, summary: Some(summary.to_owned()) });
            }
            Some(_) => return Err(reasoning.at(name).invalid("expected auto, concise or detailed")),
        }
    }
    Ok(ReasoningEcho { effort, summary: None })
}
