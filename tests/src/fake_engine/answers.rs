//! Answers of a fake engine in the format of vLLM's `/inference/v1/generate`, in token ids of the
//! embedded model.

use std::path::Path;

use prompt::Tokenizer;
use serde_json::json;

/// Loads the embedded model's tokenizer.
///
/// # Panics
/// If the file isn't there.
pub fn tokenizer() -> Tokenizer {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models/qwen3-tiny/tokenizer.json");
    let json = std::fs::read(file).expect("the embedded model's tokenizer");
    Tokenizer::from_json(&json).expect("it loads")
}

/// Encodes a text, in which added tokens are written literally, and appends the model's end token.
///
/// # Panics
/// If it can't be encoded.
pub fn ids(text: &str) -> Vec<u32> {
    tokenizer().encode_with_added(&format!("{text}<|im_end|>")).expect("a text")
}

/// Response head of an answer that is a stream.
pub fn head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec()
}

/// Event with these token ids; `finish` is its finish reason if it is the last of the answer.
pub fn event(ids: &[u32], finish: Option<&str>) -> Vec<u8> {
    let choice = json!({ "index": 0, "token_ids": ids, "finish_reason": finish, "stop_reason": null, "logprobs": null });
    format!("data: {}\n\n", json!({ "request_id": "r", "choices": [choice] })).into_bytes()
}

/// Event of an engine whose models are owned by `owner`, with these token ids after `told` earlier
/// ones; `finish` is its finish reason if it is the last of the answer.
pub fn event_of(owner: &str, ids: &[u32], told: usize, finish: Option<&str>) -> Vec<u8> {
    match owner {
        "sglang" => {
            let finish = finish.map(|kind| json!({ "type": kind }));
            let meta = json!({ "finish_reason": finish, "completion_tokens": told + ids.len() });
            format!("data: {}\n\n", json!({ "output_ids": ids, "meta_info": meta })).into_bytes()
        }
        "llamacpp" => {
            let token = |(at, id): (usize, &u32)| json!({ "content": "a", "tokens": [id], "tokens_predicted": told + at + 1 });
            let tokens = ids.iter().enumerate().map(token);
            let kind = finish.map(|finish| if finish == "stop" { "eos" } else { "limit" });
            let count = told + ids.len();
            let last = kind.map(|kind| json!({ "stop": true, "stop_type": kind, "tokens_predicted": count }));
            tokens.chain(last).flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect()
        }
        _ => event(ids, finish),
    }
}

/// Events without tokens, and bytes without events, each with its name. The events are of an engine
/// whose models are owned by `owner`.
pub fn without_tokens(owner: &str) -> Vec<(&'static str, Vec<u8>)> {
    let usage = match owner {
        "sglang" => event_of(owner, &[], 0, None),
        "llamacpp" => b"data: {\"prompt_progress\":{\"cache\":1}}\n\n".to_vec(),
        _ => b"data: {\"choices\":[],\"usage\":null}\n\n".to_vec(),
    };
    let mut all: Vec<(&str, &[u8])> = vec![
        ("events without tokens", &usage),
        ("comments", b": still there\n\n"),
        ("blank lines", b"\n\n"),
        ("other fields", b"event: ping\nid: 1\nretry: 1\n\n"),
        ("one endless line", b"data: xxxxxxxxxxxxxxxxxxxxxxxx"),
    ];
    if owner != "sglang" {
        all.push(("events of another type", b"event: ping\ndata: {\"type\":\"ping\"}\n\n"));
    }
    all.into_iter().map(|(what, bytes)| (what, bytes.repeat(1 << 10))).collect()
}

/// Last events of an answer: its usage and `[DONE]`.
pub fn done() -> Vec<u8> {
    let usage = json!({ "choices": [], "usage": { "prompt_tokens_details": { "cached_tokens": 3 } } });
    format!("data: {usage}\n\ndata: [DONE]\n\n").into_bytes()
}

/// Whole answer that is a stream, with one event per token.
pub fn whole(text: &str) -> Vec<u8> {
    let ids = ids(text);
    let mut bytes = head();
    for (at, id) in ids.iter().enumerate() {
        bytes.extend(event(&[*id], (at + 1 == ids.len()).then_some("stop")));
    }
    bytes.extend(done());
    bytes
}

/// Response that refuses a request; `headers` are whole lines, each with its line end.
pub fn refusal(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} No\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
