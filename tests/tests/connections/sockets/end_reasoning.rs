//! The end of a response's reasoning over its socket: accepted while the model reasons, else refused in the
//! response's lane.

use serde_json::{Value, json};
use tests::server::{Setup, TestServer};
use tests::socket::Socket;

fn event(response: &Value) -> Value {
    json!({ "type": "response.end_reasoning", "response_id": response })
}

/// Reads up to the first event of this type.
async fn until(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let event = socket.event().await;
        if event["type"] == kind {
            return event;
        }
        assert_ne!(event["type"], "error", "{event}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasoning_ends_when_the_sockets_client_says_so() {
    let server = TestServer::start(Setup::default()).await;
    let mut socket = Socket::open(server.address).await;
    // The model thinks until its limit: no control token may come but `<think>`.
    let forbidden: serde_json::Map<_, _> =
        (704..713).filter(|id| *id != 707).map(|id| (id.to_string(), json!(-100))).collect();
    socket
        .create(json!({
            "input": "What is the weather in Helsinki?", "store": false, "stream_id": "a", "temperature": 0,
            "max_output_tokens": 2400, "logit_bias": forbidden, "reasoning": { "max_tokens": 2400 },
        }))
        .await;
    let id = until(&mut socket, "response.created").await["response"]["id"].clone();
    until(&mut socket, "response.reasoning_text.delta").await;
    socket.send(&event(&id)).await;
    let accepted = until(&mut socket, "response.end_reasoning.accepted").await;
    assert_eq!((&accepted["response_id"], &accepted["stream_id"]), (&id, &json!("a")));
    until(&mut socket, "response.reasoning_text.done").await;
    let text = until(&mut socket, "response.output_text.done").await;
    assert!(!text["text"].as_str().expect("a text").is_empty());
    let ended = until(&mut socket, "response.incomplete").await["response"].clone();
    assert_eq!(ended["usage"]["output_tokens"], 2400);
    for (response, status, code, lane) in [
        (&id, 409, "response_not_reasoning", json!("a")),
        (&json!("resp_none"), 404, "response_not_found", Value::Null),
        (&json!(7), 400, "invalid_type", Value::Null),
    ] {
        socket.send(&event(response)).await;
        let refused = socket.event().await;
        assert_eq!((&refused["type"], &refused["status"]), (&json!("error"), &json!(status)), "{refused}");
        assert_eq!((&refused["error"]["code"], &refused["stream_id"]), (&json!(code), &lane), "{refused}");
    }
    server.stop().await;
}
