//! The grammar of a completions stream, as a checker: text per choice, one finish reason each, the usage chunk last where there is
//! one, `[DONE]` at the very end. An error ends a stream early.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::sse;

/// Checks one stream while it is sent.
#[derive(Debug, Default)]
pub struct CompletionsValidator {
    events: usize,
    /// `id`, `object`, `created` and `model` of the first chunk.
    head: Option<[Value; 4]>,
    /// Whether each choice has finished.
    choices: BTreeMap<u64, bool>,
    /// Whether usage or an error came: only `[DONE]` may follow.
    last: bool,
    failed: bool,
    done: bool,
}

impl CompletionsValidator {
    /// Checks the next whole events. An error says which event breaks which rule.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        for event in sse::events(bytes)? {
            self.event(event).map_err(|what| format!("event {}: {what}", self.events))?;
            self.events += 1;
        }
        Ok(())
    }

    /// Checks that the stream is whole.
    pub fn finish(&self) -> Result<(), String> {
        check(self.done, "the stream ends without [DONE]")
    }

    fn event(&mut self, event: sse::Event<'_>) -> Result<(), String> {
        check(!self.done, "something follows [DONE]")?;
        check(event.name.is_none(), "a chunk has an event name")?;
        if event.data == "[DONE]" {
            self.done = true;
            return check(self.failed || self.all_finished(), "the stream ends without a finish_reason");
        }
        check(!self.last, "something follows the last chunk")?;
        let chunk: Value = serde_json::from_str(event.data).map_err(|error| format!("not JSON: {error}"))?;
        if let Some(error) = chunk.get("error") {
            (self.failed, self.last) = (true, true);
            return check(error["message"].is_string(), "an error has no message");
        }
        self.check_head(&chunk)?;
        let choices = chunk["choices"].as_array().ok_or("choices is not a list")?;
        if choices.is_empty() {
            self.last = true;
            check(self.all_finished(), "usage comes before the choices have finished")?;
            return check(chunk["usage"]["total_tokens"].is_u64(), "usage is missing");
        }
        choices.iter().try_for_each(|choice| self.choice(choice))
    }

    fn all_finished(&self) -> bool {
        !self.choices.is_empty() && self.choices.values().all(|finished| *finished)
    }

    fn check_head(&mut self, chunk: &Value) -> Result<(), String> {
        let head = ["id", "object", "created", "model"].map(|field| chunk[field].clone());
        let [id, object, created, model] = &head;
        let typed = id.is_string() && created.is_u64() && model.is_string() && object == "text_completion";
        check(typed, "id, object, created or model is missing or wrong")?;
        let first = self.head.get_or_insert_with(|| head.clone());
        check(*first == head, "id, created or model changes")
    }

    fn choice(&mut self, choice: &Value) -> Result<(), String> {
        let index = choice["index"].as_u64().ok_or("a choice has no index")?;
        let finished = self.choices.entry(index).or_default();
        check(!*finished, "text after finish_reason")?;
        check(choice["text"].is_string(), "a choice has no text")?;
        check_logprobs(&choice["logprobs"])?;
        match choice.get("finish_reason") {
            Some(Value::Null) => Ok(()),
            Some(reason) => {
                *finished = true;
                check(reason == "stop" || reason == "length", "unknown finish_reason")
            }
            None => Err("finish_reason is missing".to_owned()),
        }
    }
}

fn check_logprobs(logprobs: &Value) -> Result<(), String> {
    if logprobs.is_null() {
        return Ok(());
    }
    let lengths = ["tokens", "token_logprobs", "top_logprobs", "text_offset"]
        .map(|list| logprobs[list].as_array().map(Vec::len));
    check(
        lengths[0].is_some() && lengths.iter().all(|length| *length == lengths[0]),
        "logprobs differ in length",
    )
}

fn check(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::CompletionsValidator;

    fn chunk(choices: &Value) -> Value {
        json!({ "id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": choices })
    }

    fn text(index: u64, text: &str, reason: &Value) -> Value {
        chunk(&json!([{ "index": index, "text": text, "logprobs": null, "finish_reason": reason }]))
    }

    fn good() -> Vec<Value> {
        let mut usage = chunk(&json!([]));
        usage["usage"] = json!({ "total_tokens": 3 });
        let (a, b) = (text(0, "a", &Value::Null), text(1, "b", &Value::Null));
        vec![a, b, text(1, "", &json!("stop")), text(0, "", &json!("length")), usage]
    }

    fn check(chunks: &[Value]) -> Result<(), String> {
        let events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        let mut check = CompletionsValidator::default();
        check.feed(format!("{}data: [DONE]\n\n", events.concat()).as_bytes())?;
        check.finish()
    }

    #[test]
    fn a_good_stream_is_accepted_and_so_is_one_that_ends_in_an_error() {
        check(&good()).unwrap();
        check(&[good()[0].clone(), json!({ "error": { "message": "m" } })]).unwrap();
    }

    #[test]
    fn chunks_that_are_missing_or_repeated_are_noticed() {
        let good = good();
        for at in 2..good.len() {
            let mut chunks = good.clone();
            chunks.insert(at, good[at].clone());
            assert!(check(&chunks).is_err(), "{at} twice");
        }
        for at in 2..4 {
            let mut chunks = good.clone();
            chunks.remove(at);
            assert!(check(&chunks).is_err(), "without {at}");
        }
        assert!(CompletionsValidator::default().finish().is_err());
    }

    #[test]
    fn spoilt_fields_are_noticed() {
        let uneven = json!({ "tokens": ["a"], "token_logprobs": [], "top_logprobs": [], "text_offset": [0] });
        for (at, pointer, value) in [
            (1, "/id", json!("other")),
            (1, "/object", json!("chat.completion.chunk")),
            (1, "/choices/0/text", Value::Null),
            (1, "/choices/0/logprobs", uneven),
            (2, "/choices/0/finish_reason", json!("tool_calls")),
            (4, "/usage/total_tokens", Value::Null),
        ] {
            let mut chunks = good();
            *chunks[at].pointer_mut(pointer).unwrap() = value;
            assert!(check(&chunks).is_err(), "{pointer} of {at}");
        }
    }
}
