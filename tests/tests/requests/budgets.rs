//! Bounds on reasoning, on the CPU engine: in every protocol, streamed and whole, by the request and by the operator.

use model::{EngineChoice, ModelOptions};
use serde_json::{Value, json};
use tests::client::post;
use tests::server::{Setup, TestServer};
use tests::tools::types;

/// A model whose format can't write every name.
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/models/gpt-oss-tiny");
/// Tokens of reasoning of the embedded model's answer where nothing bounds them.
const THOUGHTS: u64 = 25;

fn merged(mut body: Value, extra: &Value) -> Value {
    body.as_object_mut().expect("fields").extend(extra.as_object().expect("fields").clone());
    body
}

/// A request of each protocol for an answer with a budget, or without one, and where its usage has the tokens of reasoning.
fn requests(budget: Option<u32>) -> [(&'static str, Value, &'static str); 3] {
    let asked = json!([{ "role": "user", "content": "What is the weather in Helsinki?" }]);
    let base = json!({ "model": "qwen3-tiny", "temperature": 0 });
    let thinking = json!({ "type": "enabled", "budget_tokens": budget });
    [
        (
            "/v1/responses",
            merged(base.clone(), &json!({ "input": asked, "reasoning": { "max_tokens": budget } })),
            "/usage/output_tokens_details/reasoning_tokens",
        ),
        (
            "/v1/chat/completions",
            merged(base.clone(), &json!({ "messages": asked, "thinking_token_budget": budget })),
            "/usage/completion_tokens_details/reasoning_tokens",
        ),
        (
            "/v1/messages",
            merged(base, &json!({ "messages": asked, "max_tokens": 500, "thinking": thinking })),
            "/usage/output_tokens_details/thinking_tokens",
        ),
    ]
}

/// Tokens of reasoning of an answer, and its text.
async fn answered(server: &TestServer, path: &str, body: &Value, usage: &str) -> (u64, String) {
    let answer = post(server.address, path, body).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    let answer = answer.json();
    let mut lasts =
        ["/output", "/content"].into_iter().filter_map(|list| answer.pointer(list)?.as_array()?.last());
    let text = lasts.find_map(|last| last.pointer("/content/0/text").or_else(|| last.get("text")));
    let text = text.unwrap_or(&answer["choices"][0]["message"]["content"]);
    let tokens = answer.pointer(usage).and_then(Value::as_u64).expect("tokens of reasoning");
    (tokens, text.as_str().expect("a text").to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasoning_ends_at_its_budget_in_every_protocol() {
    let server = TestServer::start(Setup::default()).await;
    for (budget, least, most) in [
        (None, THOUGHTS, THOUGHTS),
        (Some(0), 0, 0),
        (Some(4), 1, 4),
        (Some(16), 10, 16),
        (Some(1000), THOUGHTS, THOUGHTS),
    ] {
        for (path, body, usage) in requests(budget) {
            let (tokens, text) = answered(&server, path, &body, usage).await;
            assert!((least..=most).contains(&tokens), "{path}: {tokens} tokens with a budget of {budget:?}");
            assert!(!text.is_empty(), "{path}, {budget:?}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_reasoning_as_whole_answers_do() {
    let server = TestServer::start(Setup::default()).await;
    for (path, body, usage) in requests(Some(8)) {
        let (_, text) = answered(&server, path, &body, usage).await;
        let streamed = post(server.address, path, &merged(body, &json!({ "stream": true }))).await;
        let deltas = streamed.events().into_iter().filter_map(|event| {
            let delta = [&event["delta"], &event["delta"]["text"], &event["choices"][0]["delta"]["content"]];
            let is_text = event["type"].as_str().is_none_or(|kind| !kind.contains("reasoning"));
            delta.into_iter().filter(|_| is_text).find_map(|delta| delta.as_str().map(str::to_owned))
        });
        assert_eq!(deltas.collect::<String>(), text, "{path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_bounds_reasoning_by_effort() {
    let setup = Setup::default();
    let budgets = [("default", 12), ("low", 4), ("high", 1000)];
    let reasoning_budgets = budgets.map(|(effort, tokens)| (effort.to_owned(), tokens)).into();
    let server =
        TestServer::start(Setup { model: ModelOptions { reasoning_budgets, ..setup.model }, ..setup }).await;
    let [_, (path, body, usage), _] = requests(None);
    for (extra, least, most) in [
        (json!({}), 8, 12),
        (json!({ "reasoning_effort": "low" }), 1, 4),
        (json!({ "reasoning_effort": "medium" }), 8, 12),
        (json!({ "reasoning_effort": "high" }), THOUGHTS, THOUGHTS),
        (json!({ "reasoning_effort": "low", "thinking_token_budget": 1000 }), THOUGHTS, THOUGHTS),
    ] {
        let (tokens, _) = answered(&server, path, &merged(body.clone(), &extra), usage).await;
        assert!((least..=most).contains(&tokens), "{extra}: {tokens}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget_has_the_other_protocols_names_too() {
    let server = TestServer::start(Setup::default()).await;
    let [(responses, of_responses, usage), (chat, of_chat, chat_usage), _] = requests(None);
    for (path, body, usage, extra) in [
        (responses, &of_responses, usage, json!({ "thinking_token_budget": 4 })),
        (chat, &of_chat, chat_usage, json!({ "reasoning": { "max_tokens": 4 } })),
    ] {
        let (tokens, _) = answered(&server, path, &merged(body.clone(), &extra), usage).await;
        assert!((1..=4).contains(&tokens), "{path}: {tokens}");
    }
    server.stop().await;
}

/// A tool whose name the format can't write: the reasoning has no grammar, and is cut off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget_is_kept_without_a_grammar() {
    let setup = Setup::default();
    let model = ModelOptions { model: Some(MODEL.to_owned()), engine: EngineChoice::Local, ..setup.model };
    let server = TestServer::start(Setup { model, ..setup }).await;
    for name in ["get_weather", "a:b"] {
        let tool = json!({ "type": "function", "name": name, "parameters": { "type": "object" } });
        let body = json!({ "model": "gpt-oss-tiny", "input": "Hello!", "max_output_tokens": 60, "tools": [tool],
            "reasoning": { "max_tokens": 4 }, "temperature": 0 });
        let answer = post(server.address, "/v1/responses", &body).await;
        assert_eq!((answer.status.as_u16(), answer.headers.get("x-sluice-warning")), (200, None), "{name}");
        let answer = answer.json();
        let tokens = answer["usage"]["output_tokens_details"]["reasoning_tokens"].as_u64().expect("a count");
        assert!((1..=5).contains(&tokens), "{answer}");
        assert!(types(&answer).iter().any(|kind| *kind != "reasoning"), "{answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget_that_is_not_kept_is_said() {
    let setup = Setup::default();
    let model = ModelOptions { parser: Some("none".to_owned()), engine: EngineChoice::Local, ..setup.model };
    let server = TestServer::start(Setup { model, ..setup }).await;
    for (path, body, _) in requests(Some(8)) {
        let answer = post(server.address, path, &body).await;
        let warning = answer.headers["x-sluice-warning"].to_str().expect("a text").to_owned();
        assert!(
            warning.contains("reasoning has no bound: the model's parser knows no end of reasoning"),
            "{warning}"
        );
    }
    server.stop().await;
}
