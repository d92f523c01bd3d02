//! What operators see of the binary `host`: every documented metric, logs without words of
//! requests, answers, engines or parsers, and requests that don't wait for others' grammars, as
//! they would where its threads are few.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tests::client::{get, post};
use tests::fake_engine::{Action, FakeEngine, done, event, head, ids, refusal, whole};
use tests::process::ServerProcess;
use tokio::task::JoinSet;

/// Word that requests, answers and the engine's errors contain. The tokenizer of the embedded model
/// has it as several tokens.
const SECRET: &str = "Xanthippe";

fn docs() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let mut text = String::new();
    for folder in [folder.clone(), folder.join("api")] {
        for entry in std::fs::read_dir(folder).expect("the docs") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                text.push_str(&std::fs::read_to_string(path).expect("text"));
            }
        }
    }
    text
}

/// Names in a text that begin as names of metrics do.
fn names(text: &str) -> BTreeSet<String> {
    let is_of_name = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
    let starts = text.match_indices("sluice_").map(|(at, _)| &text[at..]);
    let names = starts.map(|rest| &rest[..rest.find(|char| !is_of_name(char)).unwrap_or(rest.len())]);
    // The prefix alone is no name.
    names.filter(|name| !name.ends_with('_')).map(str::to_owned).collect()
}

async fn scrape(server: &ServerProcess) -> String {
    String::from_utf8(get(server.address, "/metrics").await.body.to_vec()).expect("text")
}

/// Names of the metrics in a scrape.
fn samples(text: &str) -> BTreeSet<String> {
    let of_series = |name: String| {
        let ends = ["_bucket", "_sum", "_count"];
        ends.iter().find_map(|end| name.strip_suffix(end)).map_or(name.clone(), str::to_owned)
    };
    text.lines().filter(|line| line.starts_with("sluice_")).flat_map(names).map(of_series).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documented_metrics_and_real_ones_are_the_same() {
    let engine = FakeEngine::start(|_, _| vec![Action::Send(whole("<think>\n\n</think>\n\nHello."))]).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tools = folder.path().join("tools.json");
    std::fs::write(
        &tools,
        json!({ "mcpServers": { "files": { "url": "http://127.0.0.1:9/mcp" } } }).to_string(),
    )
    .expect("a file");
    let tools = tools.display().to_string();
    let server = ServerProcess::start_with_engine(&engine.url(), &["--mcp", &tools]);
    // One answer, since requests are counted by their status.
    let body = json!({ "model": "bench", "input": "Hi" });
    assert_eq!(post(server.address, "/v1/responses", &body).await.status, 200);
    let text = scrape(&server).await;
    let own = scrape(&ServerProcess::start_with_engine("local", &[])).await;
    let of_cache = samples(&own).into_iter().filter(|name| name == "sluice_cache_config_info");
    let all = samples(&text).into_iter().chain(of_cache).collect::<BTreeSet<_>>();
    assert_eq!(all, names(&docs()), "left: in /metrics; right: in docs/");
    assert!(!text.contains("cache_config_info"), "the cache is the remote engine's");
    let described =
        |name: &&String| [&text, &own].iter().any(|text| text.contains(&format!("# HELP {name} ")));
    let undescribed: Vec<_> = all.iter().filter(|name| !described(name)).collect();
    assert!(undescribed.is_empty(), "{undescribed:?}");
    // The engine was named at the start, and its counters count.
    let completed = format!(
        "sluice_upstream_requests_total{{model_name=\"bench\",upstream=\"{}\",outcome=\"completed\"}} 1",
        engine.url()
    );
    assert!(text.contains(&completed), "{text}");
}

/// Answers of an engine that quotes the request, wherever an engine may write something.
fn quoting() -> Vec<Vec<u8>> {
    let error =
        json!({ "error": { "message": format!("can't read {SECRET} in /etc/{SECRET}"), "code": 400 } });
    let under_200 = |data: String| [head(), format!("data: {data}\n\n").into_bytes()].concat();
    let begun = |data: String| {
        [
            head(),
            event(&ids("<think>\n\n</think>\n\nHel")[..5], None),
            format!("data: {data}\n\n").into_bytes(),
        ]
        .concat()
    };
    let finish = json!({ "choices": [{ "token_ids": [], "finish_reason": SECRET }] }).to_string();
    let wrong_type = json!({ "choices": SECRET }).to_string();
    vec![
        refusal(400, "", &error.to_string()),
        refusal(401, "", &error.to_string()),
        refusal(404, "", SECRET),
        refusal(500, "", &error.to_string()),
        refusal(503, &format!("x-why: {SECRET}\r\n"), &error.to_string()),
        under_200(error.to_string()),
        under_200(json!({ "error": { "message": SECRET, "code": 500 } }).to_string()),
        under_200(json!({ "error": { "message": SECRET } }).to_string()),
        under_200(SECRET.to_owned()),
        under_200(wrong_type.clone()),
        under_200(finish.clone()),
        begun(error.to_string()),
        begun(wrong_type),
        begun(finish),
        begun(SECRET.repeat(1 << 18)),
        [head(), event(&ids(&format!("<think>\n\n</think>\n\n{SECRET}")), Some("stop")), done()].concat(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_words_are_in_no_log_and_no_metric() {
    let mut logs = String::new();
    // Of five failures the circuit breaker would keep the rest of the answers away.
    for answers in quoting().chunks(4) {
        logs.push_str(&observed(answers.to_vec()).await);
    }
    for line in ["a remote engine refused a request", "an answer of a remote engine broke off"] {
        assert!(logs.contains(line), "{logs}");
    }
    assert!(!logs.contains(SECRET), "{logs}");
}

/// Log and metrics of a server whose engine gives each of these answers once.
async fn observed(answers: Vec<Vec<u8>>) -> String {
    let count = answers.len();
    let script = move |nth: usize, _: &Value| vec![Action::Send(answers[nth].clone())];
    let engine = FakeEngine::start(script).await;
    let server = ServerProcess::start_with_engine(&engine.url(), &[]);
    let tool =
        json!({ "type": "function", "name": SECRET, "parameters": { "type": "object" }, "strict": false });
    for _ in 0..count {
        // Calls that may come have a grammar, without which a refused request is sent once more.
        let body = json!({ "model": "bench", "input": SECRET, "tools": [tool], "tool_choice": "none" });
        let answer: Value = post(server.address, "/v1/responses", &body).await.json();
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.contains("/etc/") && !message.contains(&engine.url()), "{message}");
    }
    assert_eq!(engine.received.requests().len(), count, "each answer was given");
    server.log() + &scrape(&server).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_without_grammar_waits_for_no_compilation() {
    let server = ServerProcess::start_with_engine("local", &[]);
    let (address, path) = (server.address, "/v1/chat/completions");
    let plain =
        json!({ "model": "bench", "max_tokens": 1, "messages": [{ "role": "user", "content": "Hi" }] });
    let mut compiling = JoinSet::new();
    for at in 0..32 {
        let mut body = plain.clone();
        // Each takes hundreds of milliseconds until it is refused.
        body["guided_regex"] = json!("a?".repeat(30_000 - at));
        compiling.spawn(async move { post(address, path, &body).await });
    }
    // One is answered, so the others wait or are compiled.
    compiling.join_next().await.expect("some").expect("an answer");
    assert_eq!(post(address, path, &plain).await.status, 200);
    let mut answered = 1;
    while compiling.try_join_next().is_some() {
        answered += 1;
    }
    assert!(answered < 8, "the request waited for {answered} grammars");
}
