//! The grammar of a completions stream, as a checker: text per choice, one finish reason each, the
//! usage chunk last where there is one, `[DONE]` at the very end. An error ends a stream early.

use serde_json::Value;

use crate::chunk_check::{ChunkCheck, Finishes};
use crate::stream_rule::{EventCheck, Fault, Rule, check};

/// Checks the chunks of one stream, in order. Of a choice it keeps whether it has finished.
#[derive(Debug, Default)]
pub struct CompletionsValidator(ChunkCheck<bool>);

impl Finishes for bool {
    fn is_finished(&self) -> bool {
        *self
    }
}

impl EventCheck for CompletionsValidator {
    fn event(&mut self, chunk: &Value, faults: &mut Vec<Fault>) {
        for choice in self.0.chunk(chunk, "text_completion", [check_error, check_usage], faults) {
            faults.extend(self.choice(choice).err());
        }
    }

    fn finish(&self, faults: &mut Vec<Fault>) {
        self.0.finish(faults);
    }
}

impl CompletionsValidator {
    fn choice(&mut self, choice: &Value) -> Result<(), Fault> {
        let index = choice["index"].as_u64();
        let index = index.ok_or_else(|| Fault::new(Rule::Fields, "a choice has no index"))?;
        let before = self.0.choices.get(&index).copied().unwrap_or_default();
        let reason = choice.get("finish_reason");
        self.0.choices.insert(index, before || reason.is_some_and(|reason| !reason.is_null()));
        check(!before, Rule::Lifecycle, "text after finish_reason")?;
        check(choice["text"].is_string(), Rule::Fields, "a choice has no text")?;
        check_logprobs(&choice["logprobs"])?;
        match reason {
            Some(Value::Null) => Ok(()),
            Some(reason) => {
                check(reason == "stop" || reason == "length", Rule::Vocabulary, "unknown finish_reason")
            }
            None => Err(Fault::new(Rule::Fields, "finish_reason is missing")),
        }
    }
}

fn check_error(error: &Value) -> Result<(), Fault> {
    check(error["message"].is_string(), Rule::Fields, "an error has no message")
}

fn check_usage(usage: &Value) -> Result<(), Fault> {
    check(usage["total_tokens"].is_u64(), Rule::Usage, "usage is missing")
}

fn check_logprobs(logprobs: &Value) -> Result<(), Fault> {
    if logprobs.is_null() {
        return Ok(());
    }
    let lengths = ["tokens", "token_logprobs", "top_logprobs", "text_offset"]
        .map(|list| logprobs[list].as_array().map(Vec::len));
    let equal = lengths[0].is_some() && lengths.iter().all(|length| *length == lengths[0]);
    check(equal, Rule::Fields, "logprobs differ in length")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::Protocol;

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
        let mut check = Protocol::Completions.check();
        check.feed(format!("{}data: [DONE]\n\n", events.concat()).as_bytes())?;
        check.finish()
    }

    #[test]
    fn good_streams_pass_and_so_do_those_ending_in_error() {
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
        assert!(Protocol::Completions.check().finish().is_err());
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
