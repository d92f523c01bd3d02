//! What the Responses API doesn't have yet is refused so that clients know what to do instead.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::json;
use tests::client::{Answer, get, post, send};
use tests::server::{Setup, TestServer};

fn bare(method: Method, path: &str) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    request.body(Full::default()).expect("a request")
}

fn code(answer: &Answer) -> serde_json::Value {
    answer.json()["error"]["code"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_is_answered_426_and_a_plain_get_405() {
    let server = TestServer::start(Setup::default()).await;
    let mut upgrade = bare(Method::GET, "/v1/responses");
    for (name, value) in [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ] {
        upgrade.headers_mut().insert(name, value.parse().expect("a value"));
    }
    let answer = send(server.address, upgrade).await;
    assert_eq!(answer.status, 426, "{:?}", answer.body);
    assert_eq!(code(&answer), "websocket_not_supported");
    assert_eq!(answer.headers["upgrade"], "HTTP/1.1");
    assert_eq!(answer.headers["connection"], "upgrade");
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("POST /v1/responses"), "{message}");
    let plain = get(server.address, "/v1/responses").await;
    assert_eq!((plain.status.as_u16(), code(&plain)), (405, json!("method_not_allowed")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_count_of_a_prompt_is_what_its_answer_says() {
    let server = TestServer::start(Setup::default()).await;
    for extra in [
        json!({}),
        json!({ "instructions": "Be brief." }),
        json!({ "tools": [{ "type": "function", "name": "f", "parameters": { "type": "object" } }] }),
    ] {
        let mut body = json!({ "model": "qwen3-tiny", "input": "Who are you?", "max_output_tokens": 1 });
        body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        let counted = post(server.address, "/v1/responses/input_tokens", &body).await.json();
        let answered = post(server.address, "/v1/responses", &body).await.json();
        let tokens = &answered["usage"]["input_tokens"];
        assert!(tokens.as_u64().is_some_and(|tokens| tokens > 0), "{answered}");
        assert_eq!(counted, json!({ "object": "response.input_tokens", "input_tokens": tokens }));
    }
    server.stop().await;
}
