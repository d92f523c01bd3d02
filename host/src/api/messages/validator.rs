//! The grammar of a message stream, as a checker: `message_start`, then blocks, each begun, filled and ended before the next, with
//! indices in order, then `message_delta` with a reason that fits the blocks, then `message_stop`; or an `error` before the reason,
//! which may leave a block open, and nothing after it. Pings may stand anywhere inside.

use serde_json::{Value, json};

use super::super::sse;

/// Types of errors that clients know.
const ERRORS: [&str; 9] = [
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "timeout_error",
    "api_error",
    "overloaded_error",
];

/// Part of the stream that is being checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// Before `message_start`.
    #[default]
    Start,
    /// Between `message_start` and `message_delta`: blocks come.
    Content,
    /// After `message_delta`, which has the stop reason.
    Stopped,
    /// After `message_stop` or `error`: nothing may follow.
    Over,
}

/// The block between its start and its stop.
#[derive(Debug)]
struct OpenBlock {
    kind: String,
    /// Whether the block's signature has come.
    signed: bool,
}

/// Checks the events of one stream, in order. Errors say what is wrong with which event.
#[derive(Debug, Default)]
pub struct MessagesValidator {
    events: usize,
    stage: Stage,
    /// Number of blocks that have begun.
    blocks: u64,
    /// Number of blocks that are calls.
    calls: u64,
    open: Option<OpenBlock>,
}

impl MessagesValidator {
    /// Checks the next whole events.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        sse::events(bytes)?.into_iter().try_for_each(|event| {
            let checked = self.event(event).map_err(|what| format!("event {}: {what}", self.events));
            self.events += 1;
            checked
        })
    }

    /// Checks that the stream is whole.
    pub fn finish(&self) -> Result<(), String> {
        check(self.stage == Stage::Over, "the stream ends without message_stop or error")
    }

    fn event(&mut self, event: sse::Event<'_>) -> Result<(), String> {
        let data: Value = serde_json::from_str(event.data).map_err(|error| format!("not JSON: {error}"))?;
        let name = event.name.ok_or("an event without a name")?;
        check(data["type"] == name, "the event's name is not its type")?;
        check(self.stage != Stage::Over, "something follows the end")?;
        check(
            (self.stage == Stage::Start) == (name == "message_start"),
            "message_start is not what comes first",
        )?;
        match name {
            "message_start" => self.start(&data["message"]),
            "ping" => Ok(()),
            "content_block_start" => self.block(&data),
            "content_block_delta" => self.delta(&data),
            "content_block_stop" => self.close(&data),
            "message_delta" => self.stop(&data),
            "message_stop" => self.end(Stage::Stopped),
            "error" => {
                check_error(&data["error"])?;
                self.open = None;
                self.end(Stage::Content)
            }
            other => Err(format!("unknown event {other}")),
        }
    }

    fn start(&mut self, message: &Value) -> Result<(), String> {
        self.stage = Stage::Content;
        let fixed = [
            ("type", json!("message")),
            ("role", json!("assistant")),
            ("content", json!([])),
            ("stop_reason", Value::Null),
            ("stop_sequence", Value::Null),
        ];
        for (field, value) in fixed {
            check(message.get(field) == Some(&value), &format!("the message's {field} is not {value}"))?;
        }
        check(filled(message, "id") && filled(message, "model"), "the message lacks id or model")?;
        check_usage(&message["usage"])
    }

    fn block(&mut self, data: &Value) -> Result<(), String> {
        check(self.stage == Stage::Content, "a block after the reason")?;
        check(self.open.is_none(), "a block begins inside another")?;
        check(data["index"] == self.blocks, "a block's index goes back, or leaves one out")?;
        let block = &data["content_block"];
        let kind = block["type"].as_str().ok_or("a block has no type")?;
        let empty = match kind {
            "text" => block["text"] == "",
            "thinking" => block["thinking"] == "" && block["signature"] == "",
            "tool_use" => filled(block, "id") && filled(block, "name") && block["input"] == json!({}),
            other => return Err(format!("unknown block {other}")),
        };
        check(empty, "a block begins with content, or without what it needs")?;
        self.blocks += 1;
        self.calls += u64::from(kind == "tool_use");
        self.open = Some(OpenBlock { kind: kind.to_owned(), signed: false });
        Ok(())
    }

    fn delta(&mut self, data: &Value) -> Result<(), String> {
        let open = self.open.as_mut().ok_or("a delta outside a block")?;
        check(data["index"] == self.blocks - 1, "a delta of another block than the open one")?;
        check(!open.signed, "a delta after the signature")?;
        let delta = &data["delta"];
        let field = match (open.kind.as_str(), delta["type"].as_str()) {
            ("text", Some("text_delta")) => "text",
            ("thinking", Some("thinking_delta")) => "thinking",
            ("thinking", Some("signature_delta")) => "signature",
            ("tool_use", Some("input_json_delta")) => "partial_json",
            (kind, _) => return Err(format!("a delta that doesn't belong to a block of type {kind}")),
        };
        open.signed = field == "signature";
        check(filled(delta, field), "a delta is empty")
    }

    fn close(&mut self, data: &Value) -> Result<(), String> {
        let open = self.open.take().ok_or("an end outside a block")?;
        check(data["index"] == self.blocks - 1, "another block ends than the open one")?;
        check(open.signed == (open.kind == "thinking"), "thinking ends without its signature")
    }

    fn stop(&mut self, data: &Value) -> Result<(), String> {
        check(
            self.stage == Stage::Content && self.open.is_none(),
            "the reason comes twice or inside a block",
        )?;
        self.stage = Stage::Stopped;
        check_usage(&data["usage"])?;
        let delta = &data["delta"];
        let reason = delta["stop_reason"].as_str().ok_or("stop_reason is missing")?;
        let fits = match reason {
            "end_turn" | "stop_sequence" => self.calls == 0,
            "tool_use" => self.calls > 0,
            "max_tokens" | "model_context_window_exceeded" | "refusal" => true,
            other => return Err(format!("unknown stop_reason {other}")),
        };
        check(fits, &format!("stop_reason {reason} doesn't fit {} calls", self.calls))?;
        let named = delta.get("stop_sequence").ok_or("stop_sequence is missing")?;
        check(named.is_string() == (reason == "stop_sequence"), "stop_sequence doesn't fit stop_reason")
    }

    fn end(&mut self, after: Stage) -> Result<(), String> {
        check(self.stage == after && self.open.is_none(), "the stream ends too early or too late")?;
        self.stage = Stage::Over;
        Ok(())
    }
}

fn check_error(error: &Value) -> Result<(), String> {
    let known = error["type"].as_str().is_some_and(|kind| ERRORS.contains(&kind));
    check(known && filled(error, "message"), "an error has a known type and a message")
}

fn check_usage(usage: &Value) -> Result<(), String> {
    let fields = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    check(fields.iter().all(|field| usage[field].is_u64()), "usage is missing or not whole")
}

fn filled(value: &Value, field: &str) -> bool {
    value[field].as_str().is_some_and(|text| !text.is_empty())
}

fn check(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

/// Checks a whole stream.
pub fn check_sse(bytes: &[u8]) -> Result<(), String> {
    let mut check = MessagesValidator::default();
    check.feed(bytes)?;
    check.finish()
}

#[cfg(test)]
mod tests;
