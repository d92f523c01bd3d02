//! The grammar of a chat stream, as a checker: role first, then deltas, calls with their heads first, one finish reason per choice,
//! log-probabilities beside content only, the usage chunk last where there is one, `[DONE]` at the very end. An error ends a stream
//! early.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::sse;

/// State of the checks of one choice.
#[derive(Debug, Default)]
struct ChoiceCheck {
    calls: u64,
    /// Whether the last call is one of a custom tool.
    custom: bool,
    finished: bool,
}

/// Checks the chunks of one stream, in order. Errors say what is wrong with which chunk.
#[derive(Debug, Default)]
pub struct ChunkValidator {
    chunks: usize,
    /// `id`, `object`, `created` and `model` of the first chunk.
    head: Option<[Value; 4]>,
    choices: BTreeMap<u64, ChoiceCheck>,
    /// Whether usage or an error came: only `[DONE]` may follow.
    last: bool,
    failed: bool,
}

impl ChunkValidator {
    /// A validator that has seen no chunk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the next chunk.
    pub fn chunk(&mut self, chunk: &Value) -> Result<(), String> {
        let checked = self.check(chunk).map_err(|what| format!("chunk {}: {what}", self.chunks));
        self.chunks += 1;
        checked
    }

    /// Checks that all choices have finished.
    pub fn finish(&self) -> Result<(), String> {
        let finished = !self.choices.is_empty() && self.choices.values().all(|choice| choice.finished);
        if self.failed || finished {
            Ok(())
        } else {
            Err("the stream ends without a finish_reason".to_owned())
        }
    }

    fn check(&mut self, chunk: &Value) -> Result<(), String> {
        if self.last {
            return Err("something follows the last chunk".to_owned());
        }
        if let Some(error) = chunk.get("error") {
            (self.failed, self.last) = (true, true);
            let whole = ["message", "type", "param", "code"].iter().all(|field| error.get(field).is_some());
            return check(
                whole && error["message"].is_string(),
                "an error has message, type, param and code",
            );
        }
        self.check_head(chunk)?;
        let choices = chunk["choices"].as_array().ok_or("choices is not a list")?;
        if choices.is_empty() {
            self.last = true;
            self.finish().map_err(|_| "usage comes before the choices have finished")?;
            return check_usage(&chunk["usage"]);
        }
        check(chunk.get("usage").is_none_or(Value::is_null), "usage in a chunk that has choices")?;
        choices.iter().try_for_each(|choice| self.choice(choice))
    }

    fn check_head(&mut self, chunk: &Value) -> Result<(), String> {
        let head = ["id", "object", "created", "model"].map(|field| chunk[field].clone());
        let [id, object, created, model] = &head;
        let typed = id.as_str().is_some_and(|id| !id.is_empty()) && created.is_u64() && model.is_string();
        check(
            typed && object == "chat.completion.chunk",
            "id, object, created or model is missing or wrong",
        )?;
        let first = self.head.get_or_insert_with(|| head.clone());
        check(*first == head, "id, created or model changes")
    }

    fn choice(&mut self, choice: &Value) -> Result<(), String> {
        let index = choice["index"].as_u64().ok_or("a choice has no index")?;
        let delta = choice["delta"].as_object().ok_or("a choice has no delta")?;
        let begins = !self.choices.contains_key(&index);
        let state = self.choices.entry(index).or_default();
        check(!state.finished, "a delta after finish_reason")?;
        match delta.get("role") {
            Some(role) => check(begins && role == "assistant", "role is given twice, or isn't assistant")?,
            None => check(!begins, "the first delta has no role")?,
        }
        for text in ["content", "reasoning", "reasoning_content"] {
            let text = delta.get(text);
            check(text.is_none_or(|text| text.is_string() || text.is_null()), "a text is not a string")?;
        }
        let logprobs = choice.get("logprobs").unwrap_or(&Value::Null);
        check(logprobs.is_null() || delta.contains_key("content"), "logprobs without content")?;
        check_logprobs(logprobs)?;
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            state.call(call)?;
        }
        match choice.get("finish_reason") {
            None => Err("finish_reason is missing".to_owned()),
            Some(Value::Null) => Ok(()),
            Some(reason) => state.finish(reason),
        }
    }
}

impl ChoiceCheck {
    fn call(&mut self, call: &Value) -> Result<(), String> {
        let index = call["index"].as_u64().ok_or("a call has no index")?;
        let custom = call.get("custom").is_some();
        let (kind, says) = if custom { ("custom", "input") } else { ("function", "arguments") };
        let part = call[kind].as_object().ok_or("a call has neither function nor custom")?;
        check(call.get("function").is_none() || !custom, "a call is both function and custom")?;
        check(part.get(says).is_some_and(Value::is_string), "a call's delta has no arguments or input")?;
        let filled =
            |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if index == self.calls {
            self.calls += 1;
            self.custom = custom;
            let head = filled(call.get("id")) && call["type"] == kind && filled(part.get("name"));
            return check(head, "a call begins without id, type or name");
        }
        check(index + 1 == self.calls, "a call's index goes back, or leaves one out")?;
        check(self.custom == custom, "a call changes its type")?;
        check(call.get("id").is_none() && part.get("name").is_none(), "a call's head comes twice")
    }

    fn finish(&mut self, reason: &Value) -> Result<(), String> {
        self.finished = true;
        match reason.as_str() {
            Some("length" | "content_filter") => Ok(()),
            Some("stop") => check(self.calls == 0, "finish_reason stop although there are calls"),
            Some("tool_calls") => check(self.calls > 0, "finish_reason tool_calls without calls"),
            _ => Err(format!("unknown finish_reason {reason}")),
        }
    }
}

fn check_logprobs(logprobs: &Value) -> Result<(), String> {
    if logprobs.is_null() {
        return Ok(());
    }
    let content = logprobs["content"].as_array().ok_or("logprobs have no content")?;
    for token in content {
        let top = token["top_logprobs"].as_array().ok_or("a token has no top_logprobs")?;
        for one in [token].into_iter().chain(top) {
            let whole = one["token"].is_string() && one["bytes"].is_array();
            let logprob = one["logprob"].as_f64().is_some_and(|logprob| logprob <= 0.0);
            check(whole && logprob, "a token has no text, bytes or log-probability")?;
        }
    }
    Ok(())
}

fn check_usage(usage: &Value) -> Result<(), String> {
    let [prompt, completion, total] =
        ["prompt_tokens", "completion_tokens", "total_tokens"].map(|field| usage[field].as_u64());
    let sum = prompt.zip(completion).map(|(prompt, completion)| prompt + completion);
    check(sum.is_some() && sum == total, "usage is missing or doesn't add up")
}

fn check(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

/// Checks a whole stream: framing, chunks, `[DONE]`.
pub fn check_sse(bytes: &[u8]) -> Result<(), String> {
    let events = sse::events(bytes)?;
    let (done, chunks) = events.split_last().ok_or("an empty stream")?;
    check(done.data == "[DONE]", "the stream ends without [DONE]")?;
    check(events.iter().all(|event| event.name.is_none()), "an event has a name")?;
    let mut validator = ChunkValidator::new();
    for chunk in chunks {
        let value = serde_json::from_str(chunk.data).map_err(|error| format!("not JSON: {error}"))?;
        validator.chunk(&value)?;
    }
    validator.finish()
}

#[cfg(test)]
mod tests;
