//! Captured answers of real engines (SGLang's written by hand, from its source), played again: the
//! server's answer is the same as with the embedded engine, in every protocol.

use std::path::Path;

use remote::EngineKind;
use serde_json::{Value, json};
use tests::client::post;
use tests::fake_engine::{Action, FakeEngine, Identity, head};
use tests::server::{Setup, TestServer};

use crate::setup::start;

/// Prompt of the captured request, in the model's token ids: a user's `Hello!`.
const PROMPT: [u32; 10] = [705, 472, 198, 332, 0, 706, 198, 705, 397, 198];

/// Engines: folder of the capture, kind, `owned_by` that it reports, and the field of the request
/// that has the prompt's ids.
const ENGINES: [(&str, EngineKind, &str, &str); 4] = [
    ("vllm_completions", EngineKind::OpenAi, "vllm", "prompt"),
    ("vllm_generate", EngineKind::Vllm, "vllm", "token_ids"),
    ("sglang", EngineKind::Sglang, "sglang", "input_ids"),
    ("llamacpp", EngineKind::LlamaCpp, "llamacpp", "prompt"),
];

/// Answers in the three protocols, without what differs from answer to answer: ids, times, cached
/// tokens (and `input_tokens`, since Messages counts only the prompt tokens that weren't cached).
async fn answers(server: &TestServer) -> Vec<Value> {
    let message = json!([{ "role": "user", "content": "Hello!" }]);
    let requests = [
        ("/v1/responses", json!({ "model": "qwen3-tiny", "input": "Hello!", "temperature": 0 })),
        ("/v1/chat/completions", json!({ "model": "qwen3-tiny", "messages": message, "temperature": 0 })),
        (
            "/v1/messages",
            json!({ "model": "qwen3-tiny", "messages": message, "temperature": 0, "max_tokens": 64, "thinking": { "type": "enabled", "budget_tokens": 1024 } }),
        ),
    ];
    let mut answers = Vec::new();
    for (path, request) in requests {
        let answer = post(server.address, path, &request).await;
        assert_eq!(answer.status, 200, "{path}: {:?}", answer.body);
        let mut answer = answer.json();
        forget(&mut answer);
        answers.push(answer);
    }
    answers
}

fn forget(value: &mut Value) {
    const FORGOTTEN: [&str; 8] = [
        "id",
        "created",
        "created_at",
        "completed_at",
        "cached_tokens",
        "cache_read_input_tokens",
        "input_tokens",
        "signature",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !FORGOTTEN.contains(&name.as_str()));
            fields.values_mut().for_each(forget);
        }
        Value::Array(values) => values.iter_mut().for_each(forget),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_of_real_engines_are_the_embedded_ones() {
    let local = TestServer::start(Setup::default()).await;
    let expected = answers(&local).await;
    local.stop().await;
    for (folder, kind, owner, prompt) in ENGINES {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/remote/fixtures")
            .join(folder)
            .join("message.sse");
        let answer = [head(), std::fs::read(file).expect("a capture")].concat();
        let identity = Identity { owner, ..Identity::default() };
        let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), move |_, _| {
            vec![Action::Send(answer.clone())]
        })
        .await;
        let server = start(&engine.url(), |setup| setup.model.engine_kind = Some(kind)).await;
        assert_eq!(answers(&server).await, expected, "{folder}");
        assert_eq!(engine.received.requests()[0][prompt], json!(PROMPT), "{folder}");
        server.stop().await;
    }
}
