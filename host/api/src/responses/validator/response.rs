//! Checker of the response object inside events: its fields, and their values at each stage.

use serde_json::{Map, Value};

use super::shape::{CheckedObject, FieldType};
use super::{Fault, Faults, Rule};

/// All fields. Each is required in every event.
const FIELDS: [(&str, FieldType); 31] = [
    ("id", FieldType::Text),
    ("object", FieldType::Text),
    ("created_at", FieldType::Number),
    ("completed_at", FieldType::OptionalNumber),
    ("status", FieldType::Text),
    ("incomplete_details", FieldType::OptionalObject),
    ("model", FieldType::Text),
    ("previous_response_id", FieldType::OptionalText),
    ("instructions", FieldType::Any),
    ("output", FieldType::List),
    ("error", FieldType::OptionalObject),
    ("tools", FieldType::List),
    ("tool_choice", FieldType::Some),
    ("truncation", FieldType::Text),
    ("parallel_tool_calls", FieldType::Bool),
    ("text", FieldType::Object),
    ("top_p", FieldType::OptionalNumber),
    ("presence_penalty", FieldType::OptionalNumber),
    ("frequency_penalty", FieldType::OptionalNumber),
    ("top_logprobs", FieldType::OptionalNumber),
    ("temperature", FieldType::OptionalNumber),
    ("reasoning", FieldType::OptionalObject),
    ("usage", FieldType::OptionalObject),
    ("max_output_tokens", FieldType::OptionalNumber),
    ("max_tool_calls", FieldType::OptionalNumber),
    ("store", FieldType::OptionalBool),
    ("background", FieldType::OptionalBool),
    ("service_tier", FieldType::OptionalText),
    ("metadata", FieldType::OptionalObject),
    ("safety_identifier", FieldType::OptionalText),
    ("prompt_cache_key", FieldType::OptionalText),
];

/// Fields that may change from event to event.
const CHANGING: [&str; 7] =
    ["status", "output", "usage", "completed_at", "incomplete_details", "error", "service_tier"];

/// Fields of the turns' tokens, of vLLM, which may appear at the end.
const RAW: [&str; 2] = ["input_messages", "output_messages"];

/// Fields of `usage`.
const USAGE: [(&str, FieldType); 5] = [
    ("input_tokens", FieldType::Count),
    ("input_tokens_details", FieldType::Object),
    ("output_tokens", FieldType::Count),
    ("output_tokens_details", FieldType::Object),
    ("total_tokens", FieldType::Count),
];

/// The response object of an event. Adds to `faults` what its fields lack.
pub(super) fn of<'a>(event: CheckedObject<'a>, faults: &mut Faults) -> Result<CheckedObject<'a>, Fault> {
    event.require(&[("response", FieldType::Object)])?;
    let response = event.object("response")?;
    faults.fields(response.require(&FIELDS));
    if response.value("object") != "response" || response.value("id") == "" {
        faults.push(Fault::new(Rule::Identity, "object must be \"response\", and the id not empty"));
    }
    faults.note(response.object("text").and_then(|text| text.require(&[("format", FieldType::Object)])));
    Ok(response)
}

/// Checks that constant fields have the values of `response.created`.
pub(super) fn check_constant(created: &Map<String, Value>, response: CheckedObject<'_>) -> Result<(), Fault> {
    // That a required field is missing was said by `of`.
    let said =
        |field: &str| !response.map.contains_key(field) && FIELDS.iter().any(|(name, _)| *name == field);
    let changed = |(field, value): &(&String, &Value)| {
        let now = response.map.get(field.as_str());
        !CHANGING.contains(&field.as_str()) && now != Some(*value) && !said(field)
    };
    match created.iter().find(changed) {
        Some((field, _)) => Err(Fault::new(Rule::Identity, format!("response.{field} changes"))),
        None => Ok(()),
    }
}

/// Checks the object of an event before the end: fields of the end are unset, and the output is
/// empty or has the items done so far, unless they are `inexact`.
pub(super) fn check_running(
    kind: &str,
    response: CheckedObject<'_>,
    done: &[&Value],
    inexact: bool,
) -> Result<(), Fault> {
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
    if inexact || output.is_empty() || output.iter().eq(done.iter().copied()) {
        return Ok(());
    }
    Err(Fault::new(Rule::Text, "output differs from the items that are done"))
}

/// Checks the object of `response.completed` or `response.incomplete`. `last` is the last item of
/// the output.
pub(super) fn check_unfailed(
    kind: &str,
    response: CheckedObject<'_>,
    last: Option<&Value>,
) -> Result<(), Fault> {
    absent(response, &["error"])?;
    let status = response.text("status")?;
    if status == "cancelled" && kind == "response.incomplete" {
        // The protocol's clients know no event of a cancelled response.
        return absent(response, &["completed_at", "incomplete_details"]);
    }
    if kind.strip_prefix("response.") != Some(status) {
        return Err(Fault::new(Rule::Status, format!("status {status} in {kind}")));
    }
    if status == "incomplete" {
        absent(response, &["completed_at"])?;
        let details = response.object("incomplete_details")?;
        details.require(&[("reason", FieldType::Text)])?;
        if details.text("reason")? == "steered" && last.is_some_and(is_cut_message) {
            return Err(Fault::new(
                Rule::Status,
                "steered, although the last item is no reasoning and was cut off",
            ));
        }
        return Ok(());
    }
    absent(response, &["incomplete_details"])?;
    let (created, completed) = (response.value("created_at"), response.value("completed_at"));
    if completed.as_f64().is_none_or(|completed| Some(completed) < created.as_f64()) {
        return Err(Fault::new(Rule::Status, "completed_at is missing, or before created_at"));
    }
    if last.is_some_and(|item| item["status"] == "incomplete") {
        return Err(Fault::new(Rule::Status, "completed, although the last item was cut off"));
    }
    if response.value("usage").is_null() {
        return Err(Fault::new(Rule::Usage, "a completed response has usage"));
    }
    Ok(())
}

/// Whether an item is cut off that steering may not cut.
fn is_cut_message(item: &Value) -> bool {
    item["type"] != "reasoning" && item["status"] == "incomplete"
}

/// Checks that a completed response has no compaction without a summary.
pub(super) fn check_summaries<'a>(
    kind: &str,
    mut done: impl Iterator<Item = &'a Value>,
) -> Result<(), Fault> {
    let is_empty = |item: &Value| item["type"] == "compaction" && item["encrypted_content"] == "";
    if kind == "response.completed" && done.any(is_empty) {
        return Err(Fault::new(Rule::Status, "completed, although no summary came of the compaction"));
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

/// Checks the object of `response.failed`, after an `error` event with `code` and `message`.
pub(super) fn check_failed(response: CheckedObject<'_>, code: &Value, message: &Value) -> Result<(), Fault> {
    if response.text("status")? != "failed" {
        return Err(Fault::new(Rule::Status, "a failed response has status failed"));
    }
    absent(response, &["incomplete_details", "completed_at"])?;
    let error = response.object("error")?;
    error.require(&[("code", FieldType::Text), ("message", FieldType::Text)])?;
    if !ERROR_CODES.contains(&error.text("code")?) {
        return Err(Fault::new(Rule::Vocabulary, "response.error has a code that the protocol doesn't know"));
    }
    if error.value("code") != code || error.value("message") != message {
        return Err(Fault::new(Rule::Identity, "response.error differs from the error event"));
    }
    Ok(())
}

/// Checks the counts of tokens, if there are any.
pub(super) fn check_usage(response: CheckedObject<'_>) -> Result<(), Fault> {
    if response.value("usage").is_null() {
        return Ok(());
    }
    let usage = response.object("usage")?;
    usage.require(&USAGE)?;
    let (input, output) = (usage.object("input_tokens_details")?, usage.object("output_tokens_details")?);
    input.require(&[("cached_tokens", FieldType::Count), ("cache_write_tokens", FieldType::Count)])?;
    output.require(&[("reasoning_tokens", FieldType::Count)])?;
    let (read, written) = (usage.index("input_tokens")?, usage.index("output_tokens")?);
    let adds_up = read.checked_add(written) == Some(usage.index("total_tokens")?);
    if !adds_up || input.index("cached_tokens")? > read || output.index("reasoning_tokens")? > written {
        return Err(Fault::new(Rule::Usage, "token counts don't add up"));
    }
    Ok(())
}

/// Checks the turns' tokens, if the response has them: there are as many outputs as inputs.
pub(super) fn check_raw(response: CheckedObject<'_>) -> Result<(), Fault> {
    let mut counts = [0; 2];
    for (field, count) in RAW.into_iter().zip(&mut counts) {
        if !response.map.contains_key(field) {
            continue;
        }
        let messages = response.list(field)?;
        *count = messages.len();
        for message in messages {
            let message = CheckedObject::new(message, field)?;
            message.require(&[
                ("type", FieldType::Text),
                ("message", FieldType::Text),
                ("tokens", FieldType::List),
            ])?;
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

fn absent(response: CheckedObject<'_>, fields: &[&str]) -> Result<(), Fault> {
    match fields.iter().find(|field| !response.value(field).is_null()) {
        Some(field) => Err(Fault::new(Rule::Status, format!("response.{field} is set too early or wrongly"))),
        None => Ok(()),
    }
}
