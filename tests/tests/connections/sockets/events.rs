//! What is said on a socket: the events of a stream, a message each, and errors as events.

use serde_json::{Value, json};
use tests::client::post;
use tests::socket::{Socket, text};
use tokio_tungstenite::tungstenite::Message;

use super::engine::{Gated, Scripted};

/// Names of the events, with ids and times out of the way.
fn kinds(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn socket_events_are_those_of_a_stream_without_frame() {
    let Scripted { server, .. } = Scripted::start().await;
    let body = json!({ "model": "qwen3-tiny", "input": "think", "stream": true });
    let streamed = post(server.address, "/v1/responses", &body).await.events();
    let mut socket = Socket::open(server.address).await;
    // `stream` says nothing here.
    for stream in [json!(true), json!(false), Value::Null] {
        socket.create(json!({ "input": "think", "stream": stream })).await;
        let events = socket.response().await;
        assert_eq!(kinds(&events), kinds(&streamed));
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], number);
            assert_eq!(event.get("stream_id"), None);
        }
        assert_eq!(text(&events[events.len() - 1]["response"]), "Thought.");
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_event_says_what_is_left_out() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let message = json!({ "role": "user", "content": "think", "mood": "blue" });
    for lane in [Value::Null, json!("a")] {
        socket.create(json!({ "input": [message], "hologram": 1, "stream_id": lane })).await;
        let events = socket.response().await;
        let said = json!(["unknown field hologram ignored", "unknown field input[0].mood ignored"]);
        assert_eq!((&events[0]["type"], &events[0]["x-sluice-warning"]), (&json!("response.created"), &said));
        assert_eq!(events.iter().filter(|event| event.get("x-sluice-warning").is_some()).count(), 1);
        socket.create(json!({ "input": "think", "generate": true, "stream": true, "stream_id": lane })).await;
        let events = socket.response().await;
        assert!(events.iter().all(|event| event.get("x-sluice-warning").is_none()), "{}", events[0]);
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_of_a_lane_has_its_name() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    socket.create(json!({ "input": "think", "stream_id": "main.1" })).await;
    let events = socket.response().await;
    assert!(events.len() > 4 && events.iter().all(|event| event["stream_id"] == "main.1"));
    socket.create(json!({ "input": [], "stream_id": "main.1" })).await;
    let refused = socket.event().await;
    assert_eq!((&refused["type"], &refused["stream_id"]), (&json!("error"), &json!("main.1")));
    drop(socket);
    server.stop().await;
}

/// livekit 5586's neighbour: clients can't read an error without a status, or one in another shape.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn livekit_5092_readable_errors_leave_the_socket_open() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let create = |fields: Value| {
        let mut event = json!({ "type": "response.create", "model": "qwen3-tiny", "input": "Hi" });
        event.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        event.to_string()
    };
    let cases = [
        ("{".to_owned(), 400, json!("invalid_json"), Value::Null),
        ("[1]".to_owned(), 400, json!("invalid_type"), Value::Null),
        (
            json!({ "model": "qwen3-tiny" }).to_string(),
            400,
            json!("missing_required_parameter"),
            json!("type"),
        ),
        (create(json!({ "type": "session.update" })), 400, json!("invalid_value"), json!("type")),
        (create(json!({ "model": "gpt" })), 404, json!("model_not_found"), json!("model")),
        (create(json!({ "input": 1 })), 400, json!("invalid_type"), json!("input")),
        (create(json!({ "background": true })), 400, json!("unsupported_parameter"), json!("background")),
        (create(json!({ "generate": "no" })), 400, json!("invalid_type"), json!("generate")),
        (create(json!({ "stream_id": "a b" })), 400, json!("invalid_stream_id"), json!("stream_id")),
        (create(json!({ "stream_id": "" })), 400, json!("invalid_stream_id"), json!("stream_id")),
    ];
    for (message, status, code, param) in cases {
        socket.message(Message::text(message.clone())).await;
        let event = socket.event().await;
        let error = &event["error"];
        assert_eq!(event["type"], "error", "{message}");
        assert_eq!(
            (&event["status"], &error["code"], &error["param"]),
            (&json!(status), &code, &param),
            "{event}"
        );
        assert!(
            error["message"].is_string() && error["type"].is_string() && event["sequence_number"].is_u64()
        );
        assert_eq!(event.get("stream_id"), None);
    }
    socket.message(Message::binary(b"{}".to_vec())).await;
    assert_eq!(socket.event().await["error"]["code"], "unsupported_message");
    assert_eq!(text(&socket.answer(json!({ "input": "Hi" })).await), "Hello!");
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processed_needs_no_answer_and_idle_is_not_steered() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    socket.send(&json!({ "type": "response.processed", "response_id": "resp_1" })).await;
    let input = json!([{ "role": "user", "content": "Stop." }]);
    socket.send(&json!({ "type": "response.steer", "previous_response_id": "resp_1", "input": input })).await;
    let failed = socket.event().await;
    assert_eq!(
        (&failed["type"], &failed["error"]["code"]),
        (&json!("response.steer.failed"), &json!("response_not_found"))
    );
    assert_eq!(failed["steer"], json!({ "previous_response_id": "resp_1", "input": input }));
    assert_eq!(text(&socket.answer(json!({ "input": "Hi" })).await), "Hello!");
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_is_broken_by_heartbeats_that_are_events() {
    let mut gated =
        Gated::with(|setup| setup.limits.http.heartbeat = std::time::Duration::from_millis(20)).await;
    let mut socket = Socket::open(gated.server.address).await;
    socket.create(json!({ "input": "Hi", "stream_id": "a" })).await;
    gated.asked(1).await;
    let mut beats = 0;
    while beats < 3 {
        let event = socket.event().await;
        beats += usize::from(event["type"] == "response.in_progress");
        assert_eq!(event["stream_id"], "a");
    }
    gated.gate.add_permits(1);
    assert_eq!(socket.response().await.pop().expect("an end")["type"], "response.completed");
    gated.server.begin_stop();
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_sockets_are_told_and_end_after_their_responses() {
    // Time for the first response to begin on a busy machine.
    let gated = Gated::with(|setup| setup.limits.http.socket_time = std::time::Duration::from_secs(2)).await;
    let mut socket = Socket::open(gated.server.address).await;
    let mut idle = Socket::open(gated.server.address).await;
    socket.create(json!({ "input": "Hi", "stream_id": "a" })).await;
    gated.asked(1).await;
    let (events, code) = idle.rest().await;
    assert_eq!((events.len(), code), (1, Some(1001)));
    assert_eq!(events[0]["error"]["code"], "websocket_connection_limit_reached");
    assert_eq!((&events[0]["status"], events[0].get("stream_id")), (&json!(400), None));
    // This one is as old by now. It takes nothing new, and what has begun goes on.
    socket.create(json!({ "input": "Hi", "stream_id": "b" })).await;
    loop {
        let event = socket.event().await;
        if event["type"] == "error" {
            assert_eq!(
                (&event["stream_id"], &event["error"]["code"]),
                (&json!("b"), &json!("websocket_connection_limit_reached"))
            );
            break;
        }
    }
    gated.gate.add_permits(1);
    let (events, code) = socket.rest().await;
    let kinds = kinds(&events);
    assert_eq!(kinds[kinds.len() - 2..], ["response.completed", "error"], "{events:?}");
    assert_eq!(code, Some(1001));
    gated.server.stop().await;
}
