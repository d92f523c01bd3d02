//! Servers, requests and answers of these tests.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{Answer, answered, send};
use tests::server::{Setup, TestServer};

/// A key's request.
pub(crate) async fn ask(server: &TestServer, key: &str, method: Method, path: &str, body: &Value) -> Answer {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {key}"))
        .body(Full::new(Bytes::from(text)))
        .expect("a request");
    send(server.address, request).await
}

/// A `GET` without a key.
pub(crate) async fn read(address: SocketAddr, path: &str) -> Answer {
    tests::client::get(address, path).await
}

/// A `DELETE` without a key.
pub(crate) async fn delete(address: SocketAddr, path: &str) -> Answer {
    let request = Request::delete(path).header("host", "localhost").body(Full::default());
    send(address, request.expect("a request")).await
}

/// A server whose model writes what `rules` say.
pub(crate) async fn replaying(rules: &Value) -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    TestServer::start(Setup::replay(folder.path(), rules)).await
}

/// Rules of a model that answers "Four.", or, as asked for in the last message, a long text, one
/// that never ends, or a call.
pub(crate) fn rules() -> Value {
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>";
    json!([
        { "when": { "last_user_contains": "write a summary" }, "text": "Task: sums." },
        { "when": { "last_user_contains": "long" }, "text": "word ".repeat(400), "tokens_per_step": 4 },
        { "when": { "last_user_contains": "endless" }, "text": "It begins", "finish": "hang" },
        { "when": { "last_role": "user", "last_user_contains": "call" }, "text": call },
        { "text": "Four." },
    ])
}

/// A request's body: `input`, and what `more` says.
pub(crate) fn body(input: &str, more: &Value) -> Value {
    let mut body = json!({ "model": "qwen3-tiny", "input": input, "reasoning": { "effort": "none" } });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    body
}

/// The texts of a list's messages, oldest first.
pub(crate) fn texts(list: &Value) -> Vec<String> {
    let text = |item: &Value| item["content"][0]["text"].as_str().map(str::to_owned);
    list["data"].as_array().expect("a list").iter().filter_map(text).collect()
}

/// The `error` of a refusal.
pub(crate) fn error(answer: &Answer) -> (u16, Value) {
    (answer.status.as_u16(), answer.json()["error"]["code"].clone())
}

/// The answer to a request for a response that is made well.
pub(crate) async fn respond(address: SocketAddr, input: &str, more: &Value) -> Value {
    answered(address, "/v1/responses", &body(input, more)).await
}

/// An answer's id.
pub(crate) fn id(response: &Value) -> &str {
    response["id"].as_str().expect("an id")
}
