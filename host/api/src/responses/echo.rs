//! Reader of the request fields that the response object repeats.

use super::continuation::{Continuation, conversation};
use super::fields;
use super::resource::{Echo, FormatEcho, ReasoningEcho, TextEcho};
use crate::error::ApiError;
use crate::format::{self, AnswerFormat, Naming, SchemaFormat};
use crate::json::{JsonObject, Value};
use crate::limits::RequestLimits;
use crate::metadata;
use crate::options;
use crate::raw::Json;
use crate::request::{Defaults, ReasoningEvents};
use crate::tools::TOOL_CHOICE;

/// Longest identifier of a user, in characters.
const LONGEST_IDENTIFIER: usize = 128;

/// Reads and checks all fields of `body` that the response object repeats; `tools` are the tools as
/// it shows them.
pub(super) fn read(
    body: &JsonObject<'_>,
    continuation: &Continuation,
    tools: Vec<Json>,
    format: &AnswerFormat,
    defaults: &Defaults,
) -> Result<Echo, ApiError> {
    let text = |field| -> Result<Option<String>, ApiError> { Ok(body.get(field)?.map(str::to_owned)) };
    Ok(Echo {
        model: body.require(fields::MODEL)?.to_owned(),
        previous_response_id: body.get(fields::PREVIOUS_RESPONSE_ID)?.map(str::to_owned),
        conversation: conversation(body)?,
        store: continuation.store,
        background: body.get(fields::BACKGROUND)?.unwrap_or(false),
        instructions: text(fields::INSTRUCTIONS)?,
        tools,
        tool_choice: body.value(TOOL_CHOICE).map_or_else(|| Json::of("auto"), Value::to_json),
        truncation: body.get(fields::TRUNCATION)?.unwrap_or("disabled"),
        parallel_tool_calls: body.get(fields::PARALLEL_TOOL_CALLS)?.unwrap_or(true),
        text: text_options(body, format)?,
        top_p: body.get(fields::TOP_P)?.unwrap_or(defaults.top_p),
        presence_penalty: body.get(fields::PRESENCE_PENALTY)?.unwrap_or(0.0),
        frequency_penalty: body.get(fields::FREQUENCY_PENALTY)?.unwrap_or(0.0),
        top_logprobs: options::alternatives(body, fields::TOP_LOGPROBS, &defaults.limits)?.unwrap_or(0),
        temperature: body.get(fields::TEMPERATURE)?.unwrap_or(defaults.temperature),
        reasoning: reasoning(body)?,
        max_output_tokens: body.get(fields::MAX_OUTPUT_TOKENS)?,
        // The protocol counts only calls that the server runs: calls of clients' tools end the
        // response.
        max_tool_calls: body.get(fields::MAX_TOOL_CALLS)?,
        metadata: metadata::read(body, defaults.limits.metadata)?,
        safety_identifier: safety_identifier(body)?,
        prompt_cache_key: text(fields::CACHE_KEY)?,
    })
}

/// The encoding of reasoning in events: `Summary` if the request sets `summary`, else the server's
/// default.
pub(super) fn dialect(reasoning: &ReasoningEcho, defaults: &Defaults) -> ReasoningEvents {
    if reasoning.summary.is_some() { ReasoningEvents::Summary } else { defaults.reasoning_events }
}

/// `text.format`.
pub(super) fn format(body: &JsonObject<'_>, limits: &RequestLimits) -> Result<AnswerFormat, ApiError> {
    body.get(fields::ANSWER_TEXT)?
        .map_or(Ok(AnswerFormat::Text), |text| format::read(&text, fields::FORMAT, Naming::Named, limits))
}

fn text_options(body: &JsonObject<'_>, format: &AnswerFormat) -> Result<TextEcho, ApiError> {
    let Some(text) = body.get(fields::ANSWER_TEXT)? else { return Ok(TextEcho::default()) };
    let verbosity = text.get(fields::VERBOSITY)?.map(str::to_owned);
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

fn safety_identifier(body: &JsonObject<'_>) -> Result<Option<String>, ApiError> {
    match body.get(fields::SAFETY_IDENTIFIER)? {
        Some(text) if text.chars().count() > LONGEST_IDENTIFIER => {
            let what = format_args!("at most {LONGEST_IDENTIFIER} characters: send a hash of what is longer");
            Err(body.at(fields::SAFETY_IDENTIFIER).invalid(what))
        }
        text => Ok(text.map(str::to_owned)),
    }
}

fn reasoning(body: &JsonObject<'_>) -> Result<ReasoningEcho, ApiError> {
    let Some(reasoning) = body.get(fields::REASONING)? else { return Ok(ReasoningEcho::default()) };
    let effort = reasoning.get(fields::EFFORT)?.map(str::to_owned);
    for field in [fields::SUMMARY, fields::OLDER_SUMMARY] {
        match reasoning.get(field)? {
            None | Some("none") => {}
            Some(summary @ ("auto" | "concise" | "detailed")) => {
                return Ok(ReasoningEcho { effort, summary: Some(summary.to_owned()) });
            }
            Some(_) => return Err(reasoning.at(field).invalid("expected auto, concise or detailed")),
        }
    }
    Ok(ReasoningEcho { effort, summary: None })
}
