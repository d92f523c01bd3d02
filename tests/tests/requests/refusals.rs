//! A refusal of the assistant in an earlier turn reaches the model as the assistant's text, in both
//! of OpenAI's protocols: the prompt's tokens, which the server returns, spell the conversation.

use serde_json::{Value, json};
use tests::client::post;
use tests::server::{Setup, TestServer};

const SPELT: &str = "<|im_start|>user\nHow?<|im_end|>\n<|im_start|>assistant\nI can't help.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_responses() {
    let server = TestServer::start(Setup::default()).await;
    let body = json!({
        "model": "qwen3-tiny", "max_output_tokens": 1, "enable_response_messages": true,
        "input": [
            { "role": "user", "content": "How?" },
            { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
              "content": [{ "type": "refusal", "refusal": "I can't help." }] },
            { "role": "user", "content": "Why?" },
        ],
    });
    let answer = post(server.address, "/v1/responses", &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    assert!(!answer.headers.contains_key("x-sluice-warning"), "{:?}", answer.headers);
    let prompt = answer.json()["input_messages"].to_string();
    let prompt: String = serde_json::from_str::<Value>(&prompt).map(|value| texts(&value)).expect("JSON");
    assert!(prompt.contains(SPELT), "{prompt}");
    server.stop().await;
}

/// Joins all strings in a value.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(texts).collect(),
        Value::Object(fields) => fields.values().map(texts).collect(),
        _ => String::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_chat_completions() {
    let server = TestServer::start(Setup::default()).await;
    for refused in [
        json!({ "role": "assistant", "content": null, "refusal": "I can't help." }),
        json!({ "role": "assistant", "content": [{ "type": "refusal", "refusal": "I can't help." }] }),
    ] {
        let body = json!({
            "model": "qwen3-tiny", "max_tokens": 1, "return_token_ids": true,
            "messages": [{ "role": "user", "content": "How?" }, refused, { "role": "user", "content": "Why?" }],
        });
        let answer = post(server.address, "/v1/chat/completions", &body).await;
        assert_eq!(answer.status, 200, "{:?}", answer.body);
        assert!(!answer.headers.contains_key("x-sluice-warning"), "{:?}", answer.headers);
        let answer = answer.json();
        let ids = answer.pointer("/choices/0/prompt_token_ids").or(answer.get("prompt_token_ids"));
        let ids = json!({ "model": "qwen3-tiny", "tokens": ids.expect("the prompt's tokens") });
        let prompt = post(server.address, "/detokenize", &ids).await.json()["prompt"].to_string();
        let prompt: String = serde_json::from_str(&prompt).expect("text");
        assert!(prompt.contains(SPELT), "{prompt}");
    }
    server.stop().await;
}
