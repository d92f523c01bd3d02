//! Set-up of a server in front of fake engines.

use std::time::Duration;

use model::EngineChoice;
use serde_json::{Value, json};
use tests::client::{Answer, post};
use tests::fake_engine::FakeEngine;
use tests::server::{Setup, TestServer};

/// Starts a server in front of the engines at these URLs (or `@FILE`).
pub(crate) async fn server_for(engines: &str) -> TestServer {
    start(engines, |_| {}).await
}

/// Starts a server in front of these engines, with changed settings.
pub(crate) async fn start(engines: &str, change: impl FnOnce(&mut Setup)) -> TestServer {
    let mut setup = Setup::default();
    setup.model.engine = engines.parse::<EngineChoice>().expect("URLs");
    setup.limits.model.remote.health_time = Duration::from_millis(20);
    change(&mut setup);
    TestServer::start(setup).await
}

/// URLs of several engines, joined by commas.
pub(crate) fn urls(engines: &[&FakeEngine]) -> String {
    engines.iter().map(|engine| engine.url()).collect::<Vec<_>>().join(",")
}

/// Body of the request that clients send in these tests.
pub(crate) fn question(stream: bool) -> Value {
    json!({ "model": "qwen3-tiny", "input": "Who are you?", "stream": stream })
}

/// Sends the question and returns the whole answer, which isn't streamed.
pub(crate) async fn ask(server: &TestServer) -> Answer {
    post(server.address, "/v1/responses", &question(false)).await
}

/// Text of an answer's messages.
pub(crate) fn text(answer: &Answer) -> String {
    let answer = answer.json();
    let items = answer["output"].as_array().expect("a list of items").clone();
    let messages = items.iter().filter(|item| item["type"] == "message");
    messages.map(|message| message["content"][0]["text"].as_str().expect("a text").to_owned()).collect()
}

/// Types of the events of a streamed answer.
pub(crate) fn kinds(answer: &Answer) -> Vec<String> {
    answer.events().iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}
