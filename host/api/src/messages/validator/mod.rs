//! The grammar of a message stream, as a checker: `message_start`, then blocks, each begun, filled
//! and ended before the next, with indices in order, then `message_delta` with a reason that fits
//! the blocks, then `message_stop`; or an `error` before the reason, which may leave a block open,
//! and nothing after it. Pings may stand anywhere inside.

use serde_json::{Value, json};

use crate::stream_rule::{EventCheck, Fault, Rule, check};

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

/// Types of events that no other protocol has.
pub(crate) const EVENTS: [&str; 7] = [
    "message_start",
    "ping",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
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

/// Checks the events of one stream, in order.
#[derive(Debug, Default)]
pub struct MessagesValidator {
    stage: Stage,
    /// Index that the next block has.
    blocks: u64,
    /// Number of blocks that are calls.
    calls: u64,
    open: Option<OpenBlock>,
}

impl EventCheck for MessagesValidator {
    fn event(&mut self, event: &Value, faults: &mut Vec<Fault>) {
        let checked = match event["type"].as_str() {
            None => Err(Fault::new(Rule::Fields, "the event has no type")),
            Some(kind) => {
                self.order(kind, faults);
                self.inside(kind, event, faults)
            }
        };
        faults.extend(checked.err());
    }

    fn finish(&self, faults: &mut Vec<Fault>) {
        let missing = match self.stage {
            Stage::Over => return,
            Stage::Stopped => "message_stop is missing at the end",
            Stage::Content if self.open.is_some() => {
                "content_block_stop, message_delta and message_stop are missing at the end"
            }
            Stage::Start | Stage::Content => "message_delta and message_stop are missing at the end",
        };
        faults.push(Fault::new(Rule::Lifecycle, missing));
    }
}

impl MessagesValidator {
    /// Checks that an event of this type may come now. What was left out before it is named, and
    /// counts as if it had come.
    fn order(&mut self, kind: &str, faults: &mut Vec<Fault>) {
        let mut missing = |rule, what: String| faults.push(Fault::new(rule, what));
        if self.stage == Stage::Over {
            missing(Rule::Lifecycle, "something follows the end".to_owned());
        } else if (self.stage == Stage::Start) != (kind == "message_start") {
            let twice = kind == "message_start";
            let what = if twice { "message_start comes twice" } else { "message_start is missing before it" };
            missing(Rule::Lifecycle, what.to_owned());
            self.stage = if twice { self.stage } else { Stage::Content };
        }
        let ends = matches!(kind, "content_block_start" | "message_delta" | "message_stop");
        if ends && self.open.take().is_some() {
            missing(
                Rule::Order,
                format!("content_block_stop of block {} is missing before it", self.blocks - 1),
            );
        }
        if kind == "message_stop" && self.stage == Stage::Content {
            missing(Rule::Lifecycle, "message_delta is missing before it".to_owned());
            self.stage = Stage::Stopped;
        }
    }

    fn inside(&mut self, kind: &str, data: &Value, faults: &mut Vec<Fault>) -> Result<(), Fault> {
        match kind {
            "message_start" => self.start(&data["message"]),
            "ping" => Ok(()),
            "content_block_start" => self.block(data, faults),
            "content_block_delta" => self.delta(data, faults),
            "content_block_stop" => self.close(data, faults),
            "message_delta" => self.stop(data),
            "message_stop" => {
                self.stage = Stage::Over;
                Ok(())
            }
            "error" => {
                let early = self.stage != Stage::Stopped;
                (self.open, self.stage) = (None, Stage::Over);
                check(early, Rule::Lifecycle, "an error after message_delta")?;
                check_error(&data["error"])
            }
            other => Err(Fault::new(Rule::Vocabulary, format!("unknown event {other}"))),
        }
    }

    fn start(&mut self, message: &Value) -> Result<(), Fault> {
        self.stage = Stage::Content;
        let fixed = [
            ("type", json!("message")),
            ("role", json!("assistant")),
            ("content", json!([])),
            ("stop_reason", Value::Null),
            ("stop_sequence", Value::Null),
        ];
        for (field, value) in fixed {
            let right = message.get(field) == Some(&value);
            check(right, Rule::Fields, &format!("the message's {field} is not {value}"))?;
        }
        let named = filled(message, "id") && filled(message, "model");
        check(named, Rule::Fields, "the message lacks id or model")?;
        check_usage(&message["usage"])
    }

    fn block(&mut self, data: &Value, faults: &mut Vec<Fault>) -> Result<(), Fault> {
        let (index, expected) = (data["index"].as_u64(), self.blocks);
        self.blocks = index.unwrap_or(expected).saturating_add(1);
        let block = &data["content_block"];
        let kind = block["type"].as_str().unwrap_or_default();
        self.calls += u64::from(kind == "tool_use");
        self.open = Some(OpenBlock { kind: kind.to_owned(), signed: false });
        if index != Some(expected) {
            faults.push(Fault::new(Rule::Index, format!("index is {}, expected {expected}", data["index"])));
        }
        check(self.stage == Stage::Content, Rule::Lifecycle, "a block after message_delta")?;
        let empty = match kind {
            "text" => block["text"] == "",
            "thinking" => block["thinking"] == "" && block["signature"] == "",
            "tool_use" | "server_tool_use" => {
                filled(block, "id") && filled(block, "name") && block["input"] == json!({})
            }
            "mcp_tool_use" => {
                filled(block, "id")
                    && filled(block, "name")
                    && filled(block, "server_name")
                    && block["input"] == json!({})
            }
            "mcp_tool_result" => {
                filled(block, "tool_use_id") && block["is_error"].is_boolean() && block["content"].is_array()
            }
            "web_search_tool_result" => {
                filled(block, "tool_use_id") && (block["content"].is_array() || block["content"].is_object())
            }
            "compaction" => block["content"].is_null(),
            other => return Err(Fault::new(Rule::Vocabulary, format!("unknown block {other:?}"))),
        };
        check(empty, Rule::Fields, "a block begins with content, or without what it needs")
    }

    fn delta(&mut self, data: &Value, faults: &mut Vec<Fault>) -> Result<(), Fault> {
        let delta = &data["delta"];
        let (kind, field) = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => ("text", "text"),
            "thinking_delta" => ("thinking", "thinking"),
            "signature_delta" => ("thinking", "signature"),
            "input_json_delta" => ("tool_use", "partial_json"),
            "compaction_delta" => ("compaction", "content"),
            other => return Err(Fault::new(Rule::Vocabulary, format!("unknown delta {other:?}"))),
        };
        let Some(open) = self.opened(data, kind, faults) else { return Ok(()) };
        let signed = open.signed;
        open.signed |= field == "signature";
        let fits = open.kind == kind
            || (["mcp_tool_use", "server_tool_use"].contains(&&*open.kind) && kind == "tool_use");
        let belongs = format!("a {kind} delta in a block of type {}", open.kind);
        check(fits, Rule::Order, &belongs)?;
        check(!signed, Rule::Order, "a delta after the signature")?;
        // No summary came of a compaction whose content is null.
        let is_filled = filled(delta, field) || (kind == "compaction" && delta[field].is_null());
        check(is_filled, Rule::Fields, "a delta is empty")
    }

    fn close(&mut self, data: &Value, faults: &mut Vec<Fault>) -> Result<(), Fault> {
        let unsigned = self.open.as_ref().is_some_and(|open| open.kind == "thinking" && !open.signed);
        self.opened(data, "text", faults);
        self.open = None;
        check(!unsigned, Rule::Order, "thinking ends without its signature")
    }

    /// The block that an event with this index is of. If its beginning was left out, that is named,
    /// and counts as one of this `kind`; `None` if the block is over.
    fn opened(&mut self, data: &Value, kind: &str, faults: &mut Vec<Fault>) -> Option<&mut OpenBlock> {
        let index = data["index"].as_u64();
        if self.open.is_some() {
            if index != Some(self.blocks - 1) {
                let what =
                    format!("index is {}, expected {}, of the open block", data["index"], self.blocks - 1);
                faults.push(Fault::new(Rule::Index, what));
            }
        } else if index.is_some_and(|index| index < self.blocks) {
            let what = format!("it comes after the content_block_stop of block {}", data["index"]);
            faults.push(Fault::new(Rule::Order, what));
            return None;
        } else {
            let what = format!("content_block_start of block {} is missing before it", data["index"]);
            faults.push(Fault::new(Rule::Order, what));
            self.blocks = index.unwrap_or(self.blocks).saturating_add(1);
            self.calls += u64::from(kind == "tool_use");
        }
        Some(self.open.get_or_insert_with(|| OpenBlock { kind: kind.to_owned(), signed: false }))
    }

    fn stop(&mut self, data: &Value) -> Result<(), Fault> {
        let stage = std::mem::replace(&mut self.stage, Stage::Stopped);
        check(stage == Stage::Content, Rule::Lifecycle, "message_delta comes twice")?;
        check_usage(&data["usage"])?;
        let delta = &data["delta"];
        let missing = |field| Fault::new(Rule::Fields, format!("{field} is missing"));
        let reason = delta["stop_reason"].as_str().ok_or_else(|| missing("stop_reason"))?;
        let fits = match reason {
            "end_turn" | "stop_sequence" | "compaction" => self.calls == 0,
            "tool_use" => self.calls > 0,
            "max_tokens" | "model_context_window_exceeded" | "refusal" => true,
            other => return Err(Fault::new(Rule::Vocabulary, format!("unknown stop_reason {other}"))),
        };
        check(fits, Rule::Status, &format!("stop_reason {reason} doesn't fit {} calls", self.calls))?;
        let named = delta.get("stop_sequence").ok_or_else(|| missing("stop_sequence"))?;
        let agrees = named.is_string() == (reason == "stop_sequence");
        check(agrees, Rule::Status, "stop_sequence doesn't fit stop_reason")
    }
}

fn check_error(error: &Value) -> Result<(), Fault> {
    let known = error["type"].as_str().is_some_and(|kind| ERRORS.contains(&kind));
    check(known, Rule::Vocabulary, "an error has no type that clients know")?;
    check(filled(error, "message"), Rule::Fields, "an error has no message")
}

fn check_usage(usage: &Value) -> Result<(), Fault> {
    let fields = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    let whole = fields.iter().all(|field| usage[field].is_u64());
    check(whole, Rule::Usage, "usage is missing or not whole")
}

fn filled(value: &Value, field: &str) -> bool {
    value[field].as_str().is_some_and(|text| !text.is_empty())
}

/// The first violation of a whole stream.
#[cfg(test)]
pub(crate) fn check_sse(bytes: &[u8]) -> Result<(), crate::stream_check::Violation> {
    crate::stream_check::check_whole(crate::Protocol::Messages, bytes)
}

#[cfg(test)]
mod tests;
