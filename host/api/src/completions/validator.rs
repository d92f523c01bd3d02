//! The grammar of a completions stream, as a checker: text per choice, one finish reason each, the
//! usage chunk last where there is one, `[DONE]` at the very end. An error ends a stream early.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::stream_rule::{EventCheck, Fault, Rule, check};

/// Checks the chunks of one stream, in order.
#[derive(Debug, Default)]
pub struct CompletionsValidator {
    /// `id`, `object`, `created` and `model` of the chunk before.
    head: Option<[Value; 4]>,
    /// Whether each choice has finished.
    choices: BTreeMap<u64, bool>,
    /// Whether usage or an error came: only `[DONE]` may follow.
    last: bool,
    failed: bool,
}

impl EventCheck for CompletionsValidator {
    fn event(&mut self, chunk: &Value, faults: &mut Vec<Fault>) {
        faults.extend(self.check(chunk).err());
        if chunk.get("error").is_none() {
            faults.extend(self.check_head(chunk).err());
            for choice in chunk["choices"].as_array().into_iter().flatten() {
                faults.extend(self.choice(choice).err());
            }
        }
    }

    fn finish(&self, faults: &mut Vec<Fault>) {
        faults.extend(self.check_finished("the stream ends").err());
    }
}

impl CompletionsValidator {
    fn check(&mut self, chunk: &Value) -> Result<(), Fault> {
        let last = std::mem::take(&mut self.last);
        check(!last, Rule::Lifecycle, "something follows the last chunk")?;
        if let Some(error) = chunk.get("error") {
            (self.failed, self.last) = (true, true);
            return check(error["message"].is_string(), Rule::Fields, "an error has no message");
        }
        let choices = chunk["choices"].as_array();
        let choices = choices.ok_or_else(|| Fault::new(Rule::Fields, "choices is not a list"))?;
        if choices.is_empty() {
            self.last = true;
            self.check_finished("usage comes")?;
            return check(chunk["usage"]["total_tokens"].is_u64(), Rule::Usage, "usage is missing");
        }
        Ok(())
    }

    fn check_finished(&self, when: &str) -> Result<(), Fault> {
        if self.choices.is_empty() && !self.failed {
            return Err(Fault::new(Rule::Lifecycle, format!("{when} without a choice")));
        }
        match self.choices.iter().find(|(_, finished)| !**finished) {
            Some((index, _)) if !self.failed => {
                let what =
                    format!("{when}, but the chunk with the finish_reason of choice {index} is missing");
                Err(Fault::new(Rule::Lifecycle, what))
            }
            _ => Ok(()),
        }
    }

    fn check_head(&mut self, chunk: &Value) -> Result<(), Fault> {
        let head = ["id", "object", "created", "model"].map(|field| chunk[field].clone());
        let [id, object, created, model] = &head;
        let typed = id.is_string() && created.is_u64() && model.is_string() && object == "text_completion";
        check(typed, Rule::Fields, "id, object, created or model is missing or wrong")?;
        let before = self.head.replace(head);
        check(before.is_none() || before == self.head, Rule::Identity, "id, created or model changes")
    }

    fn choice(&mut self, choice: &Value) -> Result<(), Fault> {
        let index = choice["index"].as_u64();
        let index = index.ok_or_else(|| Fault::new(Rule::Fields, "a choice has no index"))?;
        let before = self.choices.get(&index).copied().unwrap_or_default();
        let reason = choice.get("finish_reason");
        self.choices.insert(index, before || reason.is_some_and(|reason| !reason.is_null()));
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
