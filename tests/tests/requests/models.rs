//! Several models in one server: which of them answers, what each has of its own, and what they
//! share.

use std::path::Path;

use model::{EngineChoice, KvCacheBytes, ModelOptions};
use serde_json::{Value, json};
use tests::client::{get, metric, post};
use tests::server::{Setup, TestServer};

const TEXT: &str = "<think>\nwhy\n</think>\n\nsaid";

/// Options of the embedded model under these names, with a script that replays `TEXT`.
fn scripted(folder: &Path, names: &[&str], parser: &str) -> ModelOptions {
    let setup = Setup::replay(folder, &json!([{ "text": TEXT }])).with_parser(parser);
    ModelOptions { served_names: names.iter().map(|name| (*name).to_owned()).collect(), ..setup.model }
}

/// Configuration with two scripted models: `first` has a parser; `second` has none, and a small
/// context.
fn two(folder: &Path, first: &str, second: &[&str]) -> Setup {
    let other = ModelOptions { context: Some(64), ..scripted(folder, second, "none") };
    Setup { model: scripted(folder, &[first], "qwen3"), others: vec![other], ..Setup::default() }
}

/// Every endpoint that depends on a model, with a body that lacks `model`.
fn endpoints() -> [(&'static str, Value); 7] {
    let messages = json!([{ "role": "user", "content": "x" }]);
    [
        ("/v1/responses", json!({ "input": "x" })),
        ("/v1/chat/completions", json!({ "messages": messages })),
        ("/v1/completions", json!({ "prompt": "x" })),
        ("/v1/messages", json!({ "messages": messages, "max_tokens": 9 })),
        ("/v1/messages/count_tokens", json!({ "messages": messages })),
        ("/tokenize", json!({ "prompt": "x" })),
        ("/detokenize", json!({ "tokens": [1] })),
    ]
}

fn asking(model: &str, mut body: Value) -> Value {
    body["model"] = json!(model);
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_answered_by_the_model_that_it_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(two(folder.path(), "small", &["big", "large"])).await;
    let list = get(server.address, "/v1/models").await.json();
    let ids: Vec<&Value> =
        list["data"].as_array().expect("a list").iter().map(|model| &model["id"]).collect();
    assert_eq!(ids, ["small", "big", "large"]);
    assert_eq!(get(server.address, "/v1/models/large").await.json()["id"], "large");
    for (name, index, context) in [("small", 0, 4096), ("large", 2, 64)] {
        let one = get(server.address, &format!("/v1/models/{name}")).await.json();
        assert_eq!((&one["max_model_len"], &one), (&json!(context), &list["data"][index]));
    }
    assert_eq!(get(server.address, "/v1/models/huge").await.status, 404);
    for (model, reasoning, content) in [("small", json!("why"), "said"), ("large", Value::Null, TEXT)] {
        let body = json!({ "model": model, "messages": [{ "role": "user", "content": "x" }] });
        let answer = post(server.address, "/v1/chat/completions", &body).await.json();
        let message = &answer["choices"][0]["message"];
        assert_eq!((&answer["model"], &message["content"]), (&json!(model), &json!(content)), "{answer}");
        assert_eq!(message["reasoning_content"], reasoning, "{answer}");
    }
    for (path, body) in endpoints() {
        for model in ["small", "big"] {
            assert_eq!(post(server.address, path, &asking(model, body.clone())).await.status, 200, "{path}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_is_read_before_what_depends_on_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(two(folder.path(), "small", &["big"])).await;
    let refusal = async |path: &str, body: &Value, status: u16| {
        let answer = post(server.address, path, body).await;
        assert_eq!(answer.status, status, "{path}: {:?}", answer.body);
        answer.json()["error"].clone()
    };
    for (path, body) in endpoints() {
        let missing = refusal(path, &body, 400).await;
        let message = missing["message"].as_str().expect("text");
        assert!(message.contains("model") && message.contains("`small`, `big`"), "{path}: {message}");
        // Other faults of the body aren't reported, since what is valid depends on the model.
        let wrong = json!({ "model": "huge", "temperature": "hot", "messages": 7, "input": 7, "prompt": 7, "tokens": 7 });
        let unknown = refusal(path, &wrong, 404).await;
        let message = unknown["message"].as_str().expect("text");
        assert!(message.contains("`huge`") && message.contains("`small`, `big`"), "{path}: {message}");
        if !path.starts_with("/v1/messages") {
            assert_eq!((&missing["param"], &unknown["param"]), (&json!("model"), &json!("model")), "{path}");
            assert_eq!(missing["code"], "missing_required_parameter");
            assert_eq!(unknown["code"], "model_not_found");
        }
        refusal(path, &json!({ "model": 7 }), 400).await;
    }
    let tokens = vec![1; 100];
    let small = post(server.address, "/detokenize", &json!({ "model": "small", "tokens": tokens })).await;
    assert_eq!(small.status, 200);
    let big = refusal("/detokenize", &json!({ "model": "big", "tokens": tokens }), 400).await;
    assert_eq!(big["code"], "context_length_exceeded", "its context is smaller");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_and_parsers_are_told_of_each_model() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(two(folder.path(), "metered", &["other", "alias"])).await;
    let series = async |name: &str, model: &str| {
        metric(server.address, &format!("{name}{{model_name=\"{model}\"}}")).await
    };
    for (model, answers) in [("metered", 1), ("alias", 2)] {
        for _ in 0..answers {
            let answer =
                post(server.address, "/v1/responses", &json!({ "model": model, "input": "x" })).await;
            assert_eq!(answer.status, 200);
        }
    }
    for (model, answers) in [("metered", 1.0), ("other", 2.0), ("alias", 0.0)] {
        let counted = series("sluice_e2e_request_latency_seconds_count", model).await;
        assert!((counted - answers).abs() < 0.5, "{model}: {counted}");
        assert_eq!(series("sluice_generation_tokens_total", model).await > 0.0, answers > 0.0, "{model}");
    }
    let seen = get(server.admin, "/admin/parsers").await.json();
    let reloaded = post(server.admin, "/admin/parsers/reload", &Value::Null).await.json();
    for report in [seen, reloaded] {
        let named: Vec<_> = report["models"].as_array().expect("a list").iter().collect();
        assert_eq!((&named[0]["model"], &named[0]["serving"]["name"]), (&json!("metered"), &json!("qwen3")));
        assert_eq!((&named[1]["model"], &named[1]["serving"]["name"]), (&json!("other"), &json!("none")));
    }
    let text = String::from_utf8(get(server.address, "/metrics").await.body.to_vec()).expect("text");
    let reloads = "sluice_parser_reloads_total{model_name=\"other\",result=\"unchanged\"} 1";
    assert!(text.contains(reloads), "{text}");
    server.stop().await;
}

/// Body of a request that samples with a seed, so that the answer is the same each time.
fn seeded(model: &str, seed: usize) -> Value {
    json!({ "model": model, "prompt": "The weather in", "max_tokens": 24, "temperature": 1, "seed": seed,
            "return_token_ids": true })
}

/// Sends these requests all at once and returns the tokens of each answer.
async fn tokens(server: &TestServer, requests: impl Iterator<Item = Value>) -> Vec<Value> {
    let answers = requests.map(async |body: Value| {
        let answer = post(server.address, "/v1/completions", &body).await.json();
        let tokens = answer["choices"][0]["token_ids"].clone();
        assert!(tokens.as_array().is_some_and(|tokens| tokens.len() > 1), "{answer}");
        tokens
    });
    futures_util::future::join_all(answers).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_taking_turns_write_what_each_writes_alone() {
    let seeds = || 0..6;
    let alone = TestServer::start(Setup::default()).await;
    let expected = tokens(&alone, seeds().map(|seed| seeded("qwen3-tiny", seed))).await;
    alone.stop().await;
    let named = |name: &str| ModelOptions {
        served_names: vec![name.to_owned()],
        parser: Some("none".to_owned()),
        engine: EngineChoice::Local,
        ..Setup::default().model
    };
    let setup = Setup { model: named("left"), others: vec![named("right")], ..Setup::default() };
    let server = TestServer::start(setup).await;
    let both = seeds().flat_map(|seed| ["left", "right"].map(|model| seeded(model, seed)));
    let told = tokens(&server, both).await;
    let expected: Vec<Value> = expected.into_iter().flat_map(|tokens| [tokens.clone(), tokens]).collect();
    assert_eq!(told, expected);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn context_fits_its_cache_and_default_caches_grow() {
    let context = async |cpu: usize, cpu_most: usize| {
        let mut setup = Setup::default();
        setup.model.kv_cache_bytes = KvCacheBytes { cpu, cpu_most, gpu: None };
        let server = TestServer::start(setup).await;
        let list = get(server.address, "/v1/models").await.json();
        server.stop().await;
        list["data"][0]["max_model_len"].as_u64().expect("a number")
    };
    let kib = 1 << 10;
    let cut = context(256 * kib, 0).await;
    assert!(cut < 4096, "{cut}");
    assert_eq!(context(256 * kib, 512 * kib).await, context(512 * kib, 0).await, "no more than it may take");
    assert_eq!(context(256 * kib, 1 << 30).await, 4096);
}

/// Files of the embedded model as those of a model of type `llama`, with this template.
fn llama(folder: &Path, template: &str) {
    let embedded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models/qwen3-tiny");
    for file in ["generation_config.json", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(embedded.join(file), folder.join(file)).expect("copied");
    }
    let config = std::fs::read(embedded.join("config.json")).expect("read");
    let mut config: Value = serde_json::from_slice(&config).expect("JSON");
    (config["model_type"], config["architectures"]) = (json!("llama"), json!(["LlamaForCausalLM"]));
    std::fs::write(folder.join("config.json"), config.to_string()).expect("written");
    std::fs::write(folder.join("chat_template.jinja"), template).expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unclaimed_model_starts_with_its_templates_parser() {
    let own = include_str!("../../../host/models/qwen3-tiny/chat_template.jinja");
    let bare = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
    for (template, parser, content) in [(own, "qwen3", "said"), (bare, "none", TEXT)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        llama(folder.path(), template);
        let mut model = scripted(folder.path(), &["llama"], "auto");
        model.model = Some(folder.path().to_str().expect("UTF-8").to_owned());
        let server = TestServer::start(Setup { model, ..Setup::default() }).await;
        let serving = server.model.parsers().serving;
        assert_eq!(serving.name, parser, "{}", serving.why);
        let body = json!({ "model": "llama", "messages": [{ "role": "user", "content": "x" }] });
        let answer = post(server.address, "/v1/chat/completions", &body).await.json();
        assert_eq!(answer["choices"][0]["message"]["content"], content, "{answer}");
        server.stop().await;
    }
}
