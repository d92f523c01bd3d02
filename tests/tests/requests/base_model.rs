//! A base model, which has no chat template: it continues texts, and refuses conversations with
//! what to do.

use std::path::Path;

use model::ModelOptions;
use serde_json::json;
use tests::client::{answered, get, post};
use tests::server::{Setup, TestServer};

/// The embedded model's files without its template.
const FILES: [&str; 5] =
    ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_go_on_and_chats_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../host/models/qwen3-tiny"));
    for file in FILES {
        std::fs::copy(model.join(file), folder.path().join(file)).expect("copied");
    }
    let mut setup = Setup::default();
    let path = folder.path().display().to_string();
    setup.model = ModelOptions { model: Some(path), served_names: vec!["base".to_owned()], ..setup.model };
    let server = TestServer::start(setup).await;
    let address = server.address;
    let body =
        json!({ "model": "base", "prompt": "Once upon", "max_tokens": 3, "logprobs": 1, "echo": true });
    let answer = answered(address, "/v1/completions", &body).await;
    assert_eq!(answer["usage"]["completion_tokens"], 3, "{answer}");
    let tokens = answered(address, "/tokenize", &json!({ "model": "base", "prompt": "Once upon" })).await;
    assert!(tokens["count"].as_u64().is_some_and(|count| count > 0), "{tokens}");
    assert_eq!(get(address, "/v1/models").await.json()["data"][0]["id"], "base");
    let messages = json!([{ "role": "user", "content": "Hi" }]);
    for (path, body) in [
        ("/v1/responses", json!({ "model": "base", "input": "Hi" })),
        ("/v1/responses/input_tokens", json!({ "model": "base", "input": "Hi" })),
        ("/v1/chat/completions", json!({ "model": "base", "messages": messages })),
        ("/v1/messages", json!({ "model": "base", "max_tokens": 3, "messages": messages })),
        ("/tokenize", json!({ "model": "base", "messages": messages })),
    ] {
        let answer = post(address, path, &body).await;
        assert_eq!(answer.status, 400, "{path}: {:?}", answer.body);
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(
            message.contains("/v1/completions") && message.contains("--chat-template"),
            "{path}: {message}"
        );
    }
    server.stop().await;
}
