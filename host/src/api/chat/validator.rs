//! The grammar of a chat stream, as a checker: role first, then deltas, calls with their heads first, one finish reason per choice,
//! the usage chunk last where there is one, `[DONE]` at the very end. An error ends a stream early.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::sse;

/// What a choice has said so far.
#[derive(Debug, Default)]
struct Choice {
    calls: u64,
    finished: bool,
}

/// Checks the chunks of one stream, in order. Errors say what is wrong with which chunk.
#[derive(Debug, Default)]
pub struct ChunkValidator {
    chunks: usize,
    /// `id`, `object`, `created` and `model` of the first chunk.
    head: Option<[Value; 4]>,
    choices: BTreeMap<u64, Choice>,
    /// Usage or an error came: nothing but `[DONE]` may follow.
    last: bool,
    failed: bool,
}

impl ChunkValidator {
    /// Before the first chunk.
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

impl Choice {
    fn call(&mut self, call: &Value) -> Result<(), String> {
        let index = call["index"].as_u64().ok_or("a call has no index")?;
        let function = call["function"].as_object().ok_or("a call has no function")?;
        let arguments = function.get("arguments").is_some_and(Value::is_string);
        check(arguments, "a call's delta has no arguments")?;
        let filled =
            |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        if index == self.calls {
            self.calls += 1;
            let head = filled(call.get("id")) && call["type"] == "function" && filled(function.get("name"));
            return check(head, "a call begins without id, type or name");
        }
        check(index + 1 == self.calls, "a call's index goes back, or leaves one out")?;
        check(call.get("id").is_none() && function.get("name").is_none(), "a call's head comes twice")
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
mod tests {
    use serde_json::{Value, json};

    use super::check_sse;

    fn chunk(choices: &Value, usage: &Value) -> Value {
        let object = "chat.completion.chunk";
        json!({ "id": "c", "object": object, "created": 1, "model": "m", "choices": choices, "usage": usage })
    }

    fn delta(delta: &Value, reason: &Value) -> Value {
        chunk(&json!([{ "index": 0, "delta": delta, "finish_reason": reason }]), &Value::Null)
    }

    fn call(index: u64, head: bool, arguments: &str) -> Value {
        let mut call = json!({ "index": index, "function": { "arguments": arguments } });
        if head {
            call["id"] = json!(format!("call_{index}"));
            call["type"] = json!("function");
            call["function"]["name"] = json!("f");
        }
        delta(&json!({ "tool_calls": [call] }), &Value::Null)
    }

    fn good() -> Vec<Value> {
        vec![
            delta(&json!({ "role": "assistant", "content": "" }), &Value::Null),
            delta(&json!({ "content": "a" }), &Value::Null),
            call(0, true, ""),
            call(0, false, "{}"),
            call(1, true, ""),
            delta(&json!({}), &json!("tool_calls")),
            chunk(&json!([]), &json!({ "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3 })),
        ]
    }

    fn check(chunks: &[Value]) -> Result<(), String> {
        let events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        check_sse(format!("{}data: [DONE]\n\n", events.concat()).as_bytes())
    }

    #[test]
    fn a_good_stream_is_accepted_and_so_is_one_that_ends_in_an_error() {
        check(&good()).unwrap();
        let error = json!({ "error": { "message": "m", "type": "t", "param": null, "code": "c" } });
        check(&[good()[0].clone(), error]).unwrap();
    }

    #[test]
    fn chunks_that_are_missing_repeated_or_swapped_are_noticed() {
        let good = good();
        for at in 0..good.len() {
            // Text and arguments may be anything, and usage needn't be there.
            if ![1, 3, 4, 6].contains(&at) {
                let mut chunks = good.clone();
                chunks.remove(at);
                assert!(check(&chunks).is_err(), "without {at}");
            }
            if ![1, 3].contains(&at) {
                let mut chunks = good.clone();
                chunks.insert(at, good[at].clone());
                assert!(check(&chunks).is_err(), "{at} twice");
            }
            if at + 1 < good.len() && at != 1 {
                let mut chunks = good.clone();
                chunks.swap(at, at + 1);
                assert!(check(&chunks).is_err(), "{at} swapped");
            }
        }
    }

    #[test]
    fn spoilt_fields_are_noticed() {
        for (at, pointer, value) in [
            (1, "/id", json!("other")),
            (1, "/model", json!("other")),
            (1, "/created", json!(2)),
            (1, "/object", json!("chat.completion")),
            (1, "/usage", json!({})),
            (0, "/choices/0/delta/role", json!("user")),
            (2, "/choices/0/delta/tool_calls/0/id", json!("")),
            (2, "/choices/0/delta/tool_calls/0/index", json!(1)),
            (3, "/choices/0/delta/tool_calls/0/index", json!(4)),
            (3, "/choices/0/delta/tool_calls/0/function/arguments", json!({})),
            (5, "/choices/0/finish_reason", json!("stop")),
            (5, "/choices/0/finish_reason", Value::Null),
            (6, "/usage/total_tokens", json!(9)),
        ] {
            let mut chunks = good();
            *chunks[at].pointer_mut(pointer).unwrap() = value;
            assert!(check(&chunks).is_err(), "{pointer} of {at}");
        }
        assert!(check_sse(b"data: {}\n\n").is_err());
    }
}
