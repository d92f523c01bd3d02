//! The grammar of a chat stream, as a checker: role first, then deltas, calls with their heads
//! first, one finish reason per choice, log-probabilities beside content only, the usage chunk last
//! where there is one, `[DONE]` at the very end. An error ends a stream early.

use serde_json::Value;

use crate::chunk_check::{ChunkCheck, Finishes};
use crate::stream_rule::{EventCheck, Fault, Rule, check};

/// State of the checks of one choice.
#[derive(Debug, Default)]
struct ChoiceCheck {
    calls: u64,
    /// Whether the last call is one of a custom tool.
    custom: bool,
    finished: bool,
}

/// Checks the chunks of one stream, in order.
#[derive(Debug, Default)]
pub struct ChunkValidator(ChunkCheck<ChoiceCheck>);

impl Finishes for ChoiceCheck {
    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl EventCheck for ChunkValidator {
    fn event(&mut self, chunk: &Value, faults: &mut Vec<Fault>) {
        let choices = self.0.chunk(chunk, "chat.completion.chunk", [check_error, check_usage], faults);
        let no_usage = choices.is_empty() || chunk.get("usage").is_none_or(Value::is_null);
        faults.extend(check(no_usage, Rule::Usage, "usage in a chunk that has choices").err());
        for choice in choices {
            self.choice(choice, faults);
        }
    }

    fn finish(&self, faults: &mut Vec<Fault>) {
        self.0.finish(faults);
    }
}

impl ChunkValidator {
    /// Checks one choice of a chunk; the choice's state follows the chunk whatever is wrong with
    /// it.
    fn choice(&mut self, choice: &Value, faults: &mut Vec<Fault>) {
        let (Some(index), Some(delta)) = (choice["index"].as_u64(), choice["delta"].as_object()) else {
            return faults.push(Fault::new(Rule::Fields, "a choice has no index or no delta"));
        };
        let begins = !self.0.choices.contains_key(&index);
        let state = self.0.choices.entry(index).or_default();
        let mut note = |checked: Result<(), Fault>| faults.extend(checked.err());
        note(check(!state.finished, Rule::Lifecycle, "a delta after finish_reason"));
        let role = match delta.get("role") {
            Some(role) => check(
                begins && role == "assistant",
                Rule::Identity,
                "role is given twice, or isn't assistant",
            ),
            None => check(!begins, Rule::Lifecycle, "the first delta has no role"),
        };
        note(role);
        for text in ["content", "reasoning", "reasoning_content"] {
            let is_text = delta.get(text).is_none_or(|text| text.is_string() || text.is_null());
            note(check(is_text, Rule::Fields, &format!("{text} is not a string")));
        }
        let logprobs = choice.get("logprobs").unwrap_or(&Value::Null);
        let beside = logprobs.is_null() || delta.contains_key("content");
        note(check(beside, Rule::Fields, "logprobs without content"));
        note(check_logprobs(logprobs));
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            note(state.call(call));
        }
        note(match choice.get("finish_reason") {
            None => Err(Fault::new(Rule::Fields, "finish_reason is missing")),
            Some(Value::Null) => Ok(()),
            Some(reason) => state.finish(reason),
        });
    }
}

impl ChoiceCheck {
    fn call(&mut self, call: &Value) -> Result<(), Fault> {
        let fields = |what| Fault::new(Rule::Fields, what);
        let index = call["index"].as_u64().ok_or_else(|| fields("a call has no index"))?;
        let custom = call.get("custom").is_some();
        let (kind, says) = if custom { ("custom", "input") } else { ("function", "arguments") };
        let part = call[kind].as_object().ok_or_else(|| fields("a call has neither function nor custom"))?;
        check(call.get("function").is_none() || !custom, Rule::Fields, "a call is both function and custom")?;
        let written = part.get(says).is_some_and(Value::is_string);
        check(written, Rule::Fields, "a call's delta has no arguments or input")?;
        let filled =
            |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if index >= self.calls {
            let expected = std::mem::replace(&mut self.calls, index.saturating_add(1));
            self.custom = custom;
            let whole = filled(call.get("id")) && call["type"] == kind && filled(part.get("name"));
            check(
                index == expected,
                Rule::Index,
                &format!("a call's index is {index}, expected {expected}"),
            )?;
            return check(whole, Rule::Fields, "a call begins without id, type or name");
        }
        check(index + 1 == self.calls, Rule::Index, "a call goes on after the next has begun")?;
        check(self.custom == custom, Rule::Identity, "a call changes its type")?;
        let head = call.get("id").is_some() || part.get("name").is_some();
        check(!head, Rule::Identity, "a call's head comes twice")
    }

    fn finish(&mut self, reason: &Value) -> Result<(), Fault> {
        self.finished = true;
        match reason.as_str() {
            Some("length" | "content_filter") => Ok(()),
            Some("stop") => check(
                self.calls == 0,
                Rule::Status,
                "finish_reason stop although there are calls, expected tool_calls",
            ),
            Some("tool_calls") => {
                check(self.calls > 0, Rule::Status, "finish_reason tool_calls without calls, expected stop")
            }
            _ => Err(Fault::new(Rule::Vocabulary, format!("unknown finish_reason {reason}"))),
        }
    }
}

fn check_logprobs(logprobs: &Value) -> Result<(), Fault> {
    if logprobs.is_null() {
        return Ok(());
    }
    let fields = |what| Fault::new(Rule::Fields, what);
    let content = logprobs["content"].as_array().ok_or_else(|| fields("logprobs have no content"))?;
    for token in content {
        let top = token["top_logprobs"].as_array().ok_or_else(|| fields("a token has no top_logprobs"))?;
        for one in [token].into_iter().chain(top) {
            let whole = one["token"].is_string() && one["bytes"].is_array();
            let logprob = one["logprob"].as_f64().is_some_and(|logprob| logprob <= 0.0);
            check(whole && logprob, Rule::Fields, "a token has no text, bytes or log-probability")?;
        }
    }
    Ok(())
}

fn check_error(error: &Value) -> Result<(), Fault> {
    let whole = ["message", "type", "param", "code"].iter().all(|field| error.get(field).is_some());
    let right = whole && error["message"].is_string();
    check(right, Rule::Fields, "an error lacks message, type, param or code")
}

fn check_usage(usage: &Value) -> Result<(), Fault> {
    let [prompt, completion, total] =
        ["prompt_tokens", "completion_tokens", "total_tokens"].map(|field| usage[field].as_u64());
    let sum = prompt.zip(completion).and_then(|(prompt, completion)| prompt.checked_add(completion));
    check(sum.is_some() && sum == total, Rule::Usage, "usage is missing or doesn't add up")
}

/// The first violation of a whole stream.
#[cfg(test)]
pub(crate) fn check_sse(bytes: &[u8]) -> Result<(), crate::stream_check::Violation> {
    crate::stream_check::check_whole(crate::Protocol::Chat, bytes)
}

#[cfg(test)]
mod tests;
