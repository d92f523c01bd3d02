//! Input that steers nothing, which the client gets back.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use serde_json::json;
use tests::client::{get, post, send};
use tests::socket::{Socket, text};

use super::*;
use crate::sockets::engine::{Gated, Scripted};

const DELTA: &str = "response.output_text.delta";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_message_of_the_user() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    let id = asked(&mut socket, json!({ "input": "Hi" }), DELTA).await;
    for input in [
        json!([]),
        json!(1),
        json!([{ "role": "system", "content": "Hi" }]),
        json!([{ "type": "function_call_output", "call_id": "c", "output": "o" }]),
        json!([{ "role": "user", "content": "Hi", "name": "n" }]),
        json!([{ "role": "user", "content": [] }]),
        json!([{ "role": "user", "content": [{ "type": "output_text", "text": "Hi" }] }]),
    ] {
        refused(&mut socket, &steer(&id, input), "invalid_input").await;
    }
    let mut event = steer(&id, json!("Hi"));
    event["model"] = json!("qwen3-tiny");
    refused(&mut socket, &event, "invalid_input").await;
    gated.gate.add_permits(1);
    until(&mut socket, "response.completed").await;
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_for_responses_that_cannot_be_steered() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    let conversation = post(gated.server.address, "/v1/conversations", &json!({})).await.json();
    let compacting = json!([{ "type": "compaction", "compact_threshold": 100_000 }]);
    for (lane, mut fields) in [
        ("a", json!({ "conversation": conversation["id"] })),
        ("b", json!({ "context_management": compacting })),
    ] {
        fields["input"] = json!("Hi");
        fields["stream_id"] = json!(lane);
        let id = asked(&mut socket, fields, "response.in_progress").await;
        refused(&mut socket, &steer(&id, json!("Hi")), "steering_not_supported").await;
    }
    gated.gate.add_permits(2);
    for _ in 0..2 {
        until(&mut socket, "response.completed").await;
    }
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_for_a_response_without_a_models_answer() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let fields = json!({ "input": "mute", "generate": false });
    let id = asked(&mut socket, fields, "response.in_progress").await;
    refused(&mut socket, &steer(&id, json!("Hi")), "steering_not_supported").await;
    drop(socket);
    server.stop().await;
}

/// What a successor would need is kept within the memory that sockets may use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_where_the_settings_have_no_room() {
    let gated = Gated::with(|setup| setup.limits.http.remembered_memory = 4_000).await;
    let mut socket = Socket::open(gated.server.address).await;
    for _ in 0..2 {
        let fields = json!({ "input": "Hi", "instructions": "x".repeat(3_000), "stream_id": "a" });
        let first = asked(&mut socket, fields.clone(), DELTA).await;
        let mut fields = fields;
        fields["stream_id"] = json!("b");
        let second = asked(&mut socket, fields, DELTA).await;
        refused(&mut socket, &steer(&second, json!("Hi")), "steering_not_supported").await;
        accepted(&mut socket, &first, json!("Hi")).await;
        gated.gate.add_permits(3);
        for _ in 0..3 {
            until(&mut socket, "response.completed").await;
        }
    }
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_for_responses_that_do_not_run() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    refused(&mut socket, &steer(&json!("resp_1"), json!("Hi")), "response_not_found").await;
    let failed = asked(&mut socket, json!({ "input": "break" }), "response.failed").await;
    refused(&mut socket, &steer(&failed, json!("Hi")), "response_not_active").await;
    let ended = asked(&mut socket, json!({ "input": "Hi" }), "response.completed").await;
    refused(&mut socket, &steer(&ended, json!("Hi")), "response_already_completed").await;
    // Another socket's response is none of this one's.
    let mut other = Socket::open(server.address).await;
    let running = asked(&mut other, json!({ "input": "hang" }), DELTA).await;
    refused(&mut socket, &steer(&running, json!("Hi")), "response_not_found").await;
    drop((socket, other));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_whose_successor_is_refused() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    // No model's context holds that.
    let input = json!("hi ".repeat(50_000));
    for store in [true, false] {
        let fields = json!({ "input": "ponder", "store": store });
        let kind = "response.reasoning_text.delta";
        let parent = asked_and_steered(&mut socket, fields, kind, input.clone()).await;
        until(&mut socket, "response.incomplete").await;
        let failed = given_back(&mut socket, "successor_creation_failed", &input).await;
        assert!(failed["steer"]["id"].as_str().expect("an id").starts_with("steer_"));
        // The client can go on from the response itself.
        let fields = json!({ "input": "Hi", "store": store, "previous_response_id": parent });
        assert_eq!(text(&socket.answer(fields).await), "Hello!");
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_waiting_for_a_call_that_is_not_continued() {
    let gated = Gated::calling().await;
    let mut socket = Socket::open(gated.server.address).await;
    waiting(&gated, &mut socket).await;
    socket.create(json!({ "input": "Hi", "stream_id": "a" })).await;
    given_back(&mut socket, "successor_creation_failed", &json!("In Celsius")).await;
    gated.gate.add_permits(1);
    until(&mut socket, "response.completed").await;
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_that_waits_when_the_next_request_is_refused() {
    let gated = Gated::calling().await;
    let mut socket = Socket::open(gated.server.address).await;
    let parent = waiting(&gated, &mut socket).await;
    let fields = json!({ "input": 1, "previous_response_id": parent, "stream_id": "a" });
    assert_eq!(socket.refusal(fields).await["error"]["param"], "input");
    given_back(&mut socket, "successor_creation_failed", &json!("In Celsius")).await;
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_without_a_successor_before_the_server_stops() {
    let mut gated = Gated::calling().await;
    let mut socket = Socket::open(gated.server.address).await;
    waiting(&gated, &mut socket).await;
    let fields = json!({ "input": "Hi", "stream_id": "b" });
    let running = asked_and_steered(&mut socket, fields, DELTA, json!("Bye")).await;
    gated.server.begin_stop();
    given_back(&mut socket, "successor_creation_failed", &json!("In Celsius")).await;
    refused(&mut socket, &steer(&running, json!("Hi")), "response_not_active").await;
    gated.gate.add_permits(1);
    until(&mut socket, "response.completed").await;
    given_back(&mut socket, "successor_creation_failed", &json!("Bye")).await;
    assert_eq!(socket.rest().await, (Vec::new(), Some(1001)));
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_of_a_response_that_fails() {
    let mut gated = Gated::with(|setup| setup.limits.http.grace = Duration::from_millis(50)).await;
    let mut socket = Socket::open(gated.server.address).await;
    let id = asked_and_steered(&mut socket, json!({ "input": "Hi" }), DELTA, json!("Bye")).await;
    gated.server.begin_stop();
    let failed = until(&mut socket, "response.failed").await;
    assert_eq!(failed["response"]["id"], id);
    given_back(&mut socket, "successor_creation_failed", &json!("Bye")).await;
    assert_eq!(socket.rest().await, (Vec::new(), Some(1001)));
    gated.server.stop().await;
}

/// A response that is deleted while it runs has no successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_of_a_response_that_is_deleted() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    let id = asked_and_steered(&mut socket, json!({ "input": "Hi" }), DELTA, json!("Bye")).await;
    let path = format!("/v1/responses/{}", id.as_str().expect("an id"));
    let request =
        Request::delete(&path).header("host", "localhost").body(Full::default()).expect("a request");
    assert_eq!(send(gated.server.address, request).await.status, 200);
    assert_eq!(until(&mut socket, "response.incomplete").await["response"]["status"], "cancelled");
    given_back(&mut socket, "successor_creation_failed", &json!("Bye")).await;
    assert_eq!(get(gated.server.address, &path).await.status, 404);
    drop(socket);
    gated.server.stop().await;
}

/// Has input wait for a call's result, in lane `a`. Returns the response's id.
async fn waiting(gated: &Gated, socket: &mut Socket) -> Value {
    let fields = json!({ "input": "Hi", "tools": weather(), "stream_id": "a" });
    let kind = "response.function_call_arguments.delta";
    let id = asked_and_steered(socket, fields, kind, json!("In Celsius")).await;
    gated.gate.add_permits(1);
    until(socket, "response.completed").await;
    until(socket, "response.steer.pending").await;
    id
}
