//! The response object inside events: its fields, and what they must say at each stage.

use serde_json::{Map, Value};

use super::Rule;
use super::shape::{Fault, Fields, Kind};

/// All fields; every one must always be there.
const FIELDS: [(&str, Kind); 31] = [
    ("id", Kind::Text),
    ("object", Kind::Text),
    ("created_at", Kind::Number),
    ("completed_at", Kind::OptionalNumber),
    ("status", Kind::Text),
    ("incomplete_details", Kind::OptionalObject),
    ("model", Kind::Text),
    ("previous_response_id", Kind::OptionalText),
    ("instructions", Kind::Any),
    ("output", Kind::List),
    ("error", Kind::OptionalObject),
    ("tools", Kind::List),
    ("tool_choice", Kind::Some),
    ("truncation", Kind::Text),
    ("parallel_tool_calls", Kind::Bool),
    ("text", Kind::Object),
    ("top_p", Kind::OptionalNumber),
    ("presence_penalty", Kind::OptionalNumber),
    ("frequency_penalty", Kind::OptionalNumber),
    ("top_logprobs", Kind::OptionalNumber),
    ("temperature", Kind::OptionalNumber),
    ("reasoning", Kind::OptionalObject),
    ("usage", Kind::OptionalObject),
    ("max_output_tokens", Kind::OptionalNumber),
    ("max_tool_calls", Kind::OptionalNumber),
    ("store", Kind::OptionalBool),
    ("background", Kind::OptionalBool),
    ("service_tier", Kind::OptionalText),
    ("metadata", Kind::OptionalObject),
    ("safety_identifier", Kind::OptionalText),
    ("prompt_cache_key", Kind::OptionalText),
];

/// Those that may change from event to event.
const CHANGING: [&str; 7] =
    ["status", "output", "usage", "completed_at", "incomplete_details", "error", "service_tier"];

/// The turns' own tokens: a field of vLLM's that may appear at the end.
const RAW: [&str; 2] = ["input_messages", "output_messages"];

/// Fields of `usage`.
const USAGE: [(&str, Kind); 5] = [
    ("input_tokens", Kind::Count),
    ("input_tokens_details", Kind::Object),
    ("output_tokens", Kind::Count),
    ("output_tokens_details", Kind::Object),
    ("total_tokens", Kind::Count),
];

/// The response of an event, with all its fields.
pub(super) fn of(event: Fields<'_>) -> Result<Fields<'_>, Fault> {
    event.require(&[("response", Kind::Object)])?;
    let response = event.object("response")?;
    response.require(&FIELDS)?;
    if response.text("object")? != "response" || response.text("id")?.is_empty() {
        return Err(Fault::new(Rule::Identity, "object must be \"response\", and the id not empty"));
    }
    response.object("text")?.require(&[("format", Kind::Object)])?;
    Ok(response)
}

/// What doesn't change is as it was at the beginning.
pub(super) fn check_constant(created: &Map<String, Value>, response: Fields<'_>) -> Result<(), Fault> {
    let changed = |(field, value): &(&String, &Value)| {
        !CHANGING.contains(&field.as_str()) && response.map.get(field.as_str()) != Some(*value)
    };
    match created.iter().find(changed) {
        Some((field, _)) => Err(Fault::new(Rule::Identity, format!("response.{field} changes"))),
        None => Ok(()),
    }
}

/// Before the end: nothing of what the end will say; the output is empty or what is done so far.
pub(super) fn check_running(kind: &str, response: Fields<'_>, done: &[Value]) -> Result<(), Fault> {
    let status = response.text("status")?;
    let queued = status == "queued" && kind != "response.in_progress";
    if !queued && (status != "in_progress" || kind == "response.queued") {
        return Err(Fault::new(Rule::Status, format!("status {status} in {kind}")));
    }
    absent(response, &["error", "incomplete_details", "completed_at", "usage"])?;
    if RAW.iter().any(|field| response.map.contains_key(*field)) {
        return Err(Fault::new(Rule::Status, "the turn's tokens come with its end"));
    }
    let output = response.list("output")?;
    let so_far = done.iter().filter(|item| !item.is_null());
    if output.is_empty() || output.iter().eq(so_far) {
        return Ok(());
    }
    Err(Fault::new(Rule::Text, "output differs from the items that are done"))
}

/// `response.completed` and `response.incomplete`.
pub(super) fn check_unfailed(kind: &str, response: Fields<'_>, last: Option<&Value>) -> Result<(), Fault> {
    absent(response, &["error"])?;
    let status = response.text("status")?;
    if kind.strip_prefix("response.") != Some(status) {
        return Err(Fault::new(Rule::Status, format!("status {status} in {kind}")));
    }
    if status == "incomplete" {
        absent(response, &["completed_at"])?;
        return response.object("incomplete_details")?.require(&[("reason", Kind::Text)]);
    }
    absent(response, &["incomplete_details"])?;
    let (created, completed) = (&response.map["created_at"], &response.map["completed_at"]);
    if completed.as_f64().is_none_or(|completed| Some(completed) < created.as_f64()) {
        return Err(Fault::new(Rule::Status, "completed_at is missing, or before created_at"));
    }
    if last.is_some_and(|item| item["status"] == "incomplete") {
        return Err(Fault::new(Rule::Status, "completed, although the last item was cut off"));
    }
    if response.map["usage"].is_null() {
        return Err(Fault::new(Rule::Usage, "a completed response has usage"));
    }
    Ok(())
}

/// Codes that `response.error` may have (openai-python, `ResponseError`).
const ERROR_CODES: [&str; 21] = [
    "server_error",
    "rate_limit_exceeded",
    "invalid_prompt",
    "data_residency_mismatch",
    "bio_policy",
    "misalignment_policy_violation",
    "vector_store_timeout",
    "invalid_image",
    "invalid_image_format",
    "invalid_base64_image",
    "invalid_image_url",
    "image_too_large",
    "image_too_small",
    "image_parse_error",
    "image_content_policy_violation",
    "invalid_image_mode",
    "image_file_too_large",
    "unsupported_image_media_type",
    "empty_image_file",
    "failed_to_download_image",
    "image_file_not_found",
];

/// `response.failed`, after an `error` event with this code and message.
pub(super) fn check_failed(response: Fields<'_>, code: &Value, message: &Value) -> Result<(), Fault> {
    if response.text("status")? != "failed" {
        return Err(Fault::new(Rule::Status, "a failed response has status failed"));
    }
    absent(response, &["incomplete_details", "completed_at"])?;
    let error = response.object("error")?;
    error.require(&[("code", Kind::Text), ("message", Kind::Text)])?;
    if !ERROR_CODES.contains(&error.text("code")?) {
        return Err(Fault::new(Rule::Vocabulary, "response.error has a code that the protocol doesn't know"));
    }
    if error.map["code"] != *code || error.map["message"] != *message {
        return Err(Fault::new(Rule::Identity, "response.error differs from the error event"));
    }
    Ok(())
}

/// Token counts, where there are any.
pub(super) fn check_usage(response: Fields<'_>) -> Result<(), Fault> {
    if response.map["usage"].is_null() {
        return Ok(());
    }
    let usage = response.object("usage")?;
    usage.require(&USAGE)?;
    let (input, output) = (usage.object("input_tokens_details")?, usage.object("output_tokens_details")?);
    input.require(&[("cached_tokens", Kind::Count), ("cache_write_tokens", Kind::Count)])?;
    output.require(&[("reasoning_tokens", Kind::Count)])?;
    let (read, written) = (usage.index("input_tokens")?, usage.index("output_tokens")?);
    let adds_up = read.checked_add(written) == Some(usage.index("total_tokens")?);
    if !adds_up || input.index("cached_tokens")? > read || output.index("reasoning_tokens")? > written {
        return Err(Fault::new(Rule::Usage, "token counts don't add up"));
    }
    Ok(())
}

/// The turns' own tokens, where the response has them: as many outputs as inputs.
pub(super) fn check_raw(response: Fields<'_>) -> Result<(), Fault> {
    let mut counts = [0; 2];
    for (field, count) in RAW.into_iter().zip(&mut counts) {
        if !response.map.contains_key(field) {
            continue;
        }
        let messages = response.list(field)?;
        *count = messages.len();
        for message in messages {
            let message = Fields::new(message, field)?;
            message.require(&[("type", Kind::Text), ("message", Kind::Text), ("tokens", Kind::List)])?;
            if message.text("type")? != "raw_message_tokens" {
                return Err(Fault::new(Rule::Vocabulary, format!("{field} holds another type")));
            }
        }
    }
    if counts[0] == counts[1] {
        return Ok(());
    }
    Err(Fault::new(Rule::Fields, "input_messages and output_messages differ in number"))
}

fn absent(response: Fields<'_>, fields: &[&str]) -> Result<(), Fault> {
    match fields.iter().find(|field| !response.map[**field].is_null()) {
        Some(field) => Err(Fault::new(Rule::Status, format!("response.{field} is set too early or wrongly"))),
        None => Ok(()),
    }
}
