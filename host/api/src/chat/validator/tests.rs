//! The validator reports streams that break the grammar of chat chunks.

use serde_json::{Value, json};

use super::check_sse;
use crate::stream_check::Violation;

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

/// Chunk that begins a call of a custom tool.
fn custom(index: u64) -> Value {
    let call = json!({ "index": index, "id": "c", "type": "custom", "custom": { "name": "g", "input": "" } });
    delta(&json!({ "tool_calls": [call] }), &Value::Null)
}

fn content(text: &str) -> Value {
    let mut chunk = delta(&json!({ "content": text }), &Value::Null);
    let token = json!({ "token": text, "logprob": -0.5, "bytes": text.as_bytes() });
    let mut chosen = token.clone();
    chosen["top_logprobs"] = json!([token]);
    chunk["choices"][0]["logprobs"] = json!({ "content": [chosen], "refusal": null });
    chunk
}

fn good() -> Vec<Value> {
    vec![
        delta(&json!({ "role": "assistant", "content": "" }), &Value::Null),
        content("a"),
        call(0, true, ""),
        call(0, false, "{}"),
        custom(1),
        delta(&json!({}), &json!("tool_calls")),
        chunk(&json!([]), &json!({ "prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3 })),
    ]
}

fn check(chunks: &[Value]) -> Result<(), Violation> {
    let events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    check_sse(format!("{}data: [DONE]\n\n", events.concat()).as_bytes())
}

#[test]
fn good_streams_pass_and_so_do_those_ending_in_error() {
    check(&good()).unwrap();
    let error = json!({ "error": { "message": "m", "type": "t", "param": null, "code": "c" } });
    check(&[good()[0].clone(), error]).unwrap();
}

#[test]
fn missing_repeated_and_swapped_chunks_are_noticed() {
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
        (1, "/choices/0/logprobs/content/0/logprob", json!(0.5)),
        (1, "/choices/0/logprobs/content/0/bytes", Value::Null),
        (1, "/choices/0/logprobs/content/0/top_logprobs", Value::Null),
        (1, "/choices/0/logprobs/content/0/top_logprobs/0/token", Value::Null),
        (1, "/choices/0/logprobs/content", Value::Null),
        (4, "/choices/0/delta/tool_calls/0/type", json!("function")),
        (4, "/choices/0/delta/tool_calls/0/custom/input", Value::Null),
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
    let mut chunks = good();
    chunks[3]["choices"][0]["logprobs"] = chunks[1]["choices"][0]["logprobs"].clone();
    assert!(check(&chunks).is_err(), "logprobs beside a call");
    let mut chunks = good();
    chunks.insert(5, chunks[4].clone());
    let again = &mut chunks[5]["choices"][0]["delta"]["tool_calls"][0];
    *again = json!({ "index": 1, "custom": { "input": "x" } });
    check(&chunks).unwrap();
    chunks[5]["choices"][0]["delta"]["tool_calls"][0] =
        json!({ "index": 1, "function": { "arguments": "x" } });
    assert!(check(&chunks).is_err(), "a call that changes its type");
}
