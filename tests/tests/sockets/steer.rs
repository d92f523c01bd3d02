//! Steering: a response ends at its next safe boundary, and another one goes on with the client's input.

use serde_json::{Value, json};
use tests::client::get;
use tests::server::TestServer;
use tests::socket::{Socket, text};

use super::engine::{Gated, Scripted};

fn steer(response: &Value, input: Value) -> Value {
    json!({ "type": "response.steer", "previous_response_id": response, "input": input })
}

fn weather() -> Value {
    json!([{ "type": "function", "name": "get_weather", "strict": false, "parameters": { "type": "object" } }])
}

/// Reads up to the first event of this type, which it returns.
async fn until(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let event = socket.event().await;
        assert_ne!(event["type"], "error", "{event}");
        if event["type"] == kind {
            return event;
        }
    }
}

/// Asks, waits for an event of this type, and steers. Returns the steered response's id.
async fn asked_and_steered(socket: &mut Socket, fields: Value, kind: &str, input: Value) -> Value {
    socket.create(fields).await;
    let id = until(socket, "response.created").await["response"]["id"].clone();
    if kind != "response.created" {
        until(socket, kind).await;
    }
    socket.send(&steer(&id, input)).await;
    let accepted = until(socket, "response.steer.accepted").await;
    assert_eq!(accepted["steer"]["previous_response_id"], id);
    assert!(accepted["steer"]["id"].as_str().expect("an id").starts_with("steer_"));
    id
}

/// Reads a steered response's end and its successor's. Returns both responses.
async fn succeeded(socket: &mut Socket, parent: &Value) -> (Value, Value) {
    let steered = until(socket, "response.incomplete").await["response"].clone();
    assert_eq!((&steered["id"], &steered["incomplete_details"]["reason"]), (parent, &json!("steered")));
    let created = socket.event().await;
    assert_eq!(
        (&created["type"], &created["response"]["previous_response_id"]),
        (&json!("response.created"), parent)
    );
    let completed = until(socket, "response.completed").await["response"].clone();
    (steered, completed)
}

async fn failed(socket: &mut Socket, event: &Value, code: &str) {
    socket.send(event).await;
    let failed = until(socket, "response.steer.failed").await;
    assert_eq!((&failed["error"]["code"], failed["steer"].get("id")), (&json!(code), None), "{failed}");
    assert_eq!(failed["steer"]["input"], event["input"]);
}

async fn input_items(server: &TestServer, response: &Value) -> Vec<Value> {
    let path = format!("/v1/responses/{}/input_items?order=asc", response["id"].as_str().expect("an id"));
    get(server.address, &path).await.json()["data"].as_array().expect("items").clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasoning_is_cut_and_the_successor_goes_on_stored_or_not() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for store in [true, false] {
        let fields = json!({ "input": "ponder", "store": store, "stream_id": "a", "metadata": { "k": "v" } });
        let parent =
            asked_and_steered(&mut socket, fields, "response.reasoning_text.delta", json!("Hi")).await;
        let (steered, next) = succeeded(&mut socket, &parent).await;
        assert_eq!(
            (&steered["output"][0]["type"], &steered["output"][0]["status"]),
            (&json!("reasoning"), &json!("incomplete"))
        );
        assert_eq!(text(&next), "Hello!");
        assert_eq!((&next["store"], &next["metadata"]), (&json!(store), &steered["metadata"]));
        let more =
            json!({ "input": "beta", "store": store, "stream_id": "a", "previous_response_id": next["id"] });
        assert_eq!(text(&socket.answer(more).await), "beta beta beta");
        if store {
            let items = input_items(&server, &next).await;
            let kinds: Vec<_> = items.iter().map(|item| (&item["type"], &item["role"])).collect();
            assert_eq!(kinds.len(), 3, "{items:?}");
            assert_eq!(items[2]["content"][0]["text"], "Hi");
        }
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_ended_before_the_call_behind_it() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let fields = json!({ "input": "say and call", "tools": weather() });
    let input = json!([{ "role": "user", "content": [{ "type": "input_text", "text": "alpha" }] }]);
    let parent = asked_and_steered(&mut socket, fields, "response.output_text.delta", input).await;
    let (steered, next) = succeeded(&mut socket, &parent).await;
    assert_eq!(steered["output"].as_array().map(Vec::len), Some(1));
    assert_eq!(steered["output"][0]["status"], "completed");
    assert!(text(&steered).starts_with("I will look it up now, wait."));
    assert_eq!((text(&next), &next["tools"]), ("alpha alpha alpha".to_owned(), &steered["tools"]));
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_its_result_and_the_input_stands_in_front_of_it() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let fields = json!({ "input": "slowly", "tools": weather() });
    let parent =
        asked_and_steered(&mut socket, fields, "response.function_call_arguments.delta", json!("In Celsius"))
            .await;
    let completed = until(&mut socket, "response.completed").await["response"].clone();
    let call = &completed["output"][0];
    let pending = socket.event().await;
    assert_eq!(
        (&pending["type"], &pending["reason"]),
        (&json!("response.steer.pending"), &json!("waiting_for_required_input"))
    );
    let mut required = pending["required_input"][0].clone();
    assert_eq!(
        required,
        json!({ "type": "function_call_output", "call_id": call["call_id"], "name": "get_weather" })
    );
    failed(&mut socket, &steer(&parent, json!("Hi")), "response_already_completed").await;
    required["output"] = json!("sunny");
    let next = socket
        .answer(json!({ "input": [required], "previous_response_id": parent, "tools": weather() }))
        .await;
    assert_eq!(text(&next), "It is sunny.");
    let items = input_items(&server, &next).await;
    let last = &items[items.len() - 2..];
    assert_eq!(
        (&last[0]["content"][0]["text"], &last[1]["type"]),
        (&json!("In Celsius"), &json!("function_call_output"))
    );
    // Input whose response isn't continued is given back.
    let fields = json!({ "input": "slowly", "tools": weather() });
    asked_and_steered(&mut socket, fields, "response.function_call_arguments.delta", json!("Hi")).await;
    until(&mut socket, "response.steer.pending").await;
    socket.create(json!({ "input": "Hi" })).await;
    let back = until(&mut socket, "response.steer.failed").await;
    assert_eq!(
        (&back["error"]["code"], &back["steer"]["input"]),
        (&json!("successor_creation_failed"), &json!("Hi"))
    );
    until(&mut socket, "response.completed").await;
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_ends_the_answer_is_followed_by_all_input_in_its_order() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    let fields = json!({ "input": "Hi", "stream_id": "b" });
    let parent = asked_and_steered(&mut socket, fields, "response.output_text.delta", json!("0")).await;
    for number in 1..8 {
        socket.send(&steer(&parent, json!(number.to_string()))).await;
        assert_eq!(until(&mut socket, "response.steer.accepted").await["stream_id"], "b");
    }
    failed(&mut socket, &steer(&parent, json!("8")), "too_many_pending_steers").await;
    gated.gate.add_permits(2);
    until(&mut socket, "response.completed").await;
    let created = until(&mut socket, "response.created").await["response"].clone();
    assert_eq!(created["previous_response_id"], parent);
    until(&mut socket, "response.completed").await;
    let items = input_items(&gated.server, &created).await;
    let texts: Vec<_> = items[2..].iter().map(|item| item["content"][0]["text"].clone()).collect();
    assert_eq!(texts, (0..8).map(|number| json!(number.to_string())).collect::<Vec<_>>());
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_steer_is_given_back() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    failed(&mut socket, &steer(&json!("resp_1"), json!("Hi")), "response_not_found").await;
    let compacting = json!([{ "type": "compaction", "compact_threshold": 100_000 }]);
    for (lane, fields, code) in [
        ("a", json!({ "context_management": compacting }), "steering_not_supported"),
        ("b", json!({}), "invalid_input"),
    ] {
        let mut create = json!({ "input": "Hi", "stream_id": lane });
        create.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        socket.create(create).await;
        let id = until(&mut socket, "response.created").await["response"]["id"].clone();
        let bad = match code {
            "invalid_input" => vec![
                json!([]),
                json!(1),
                json!([{ "role": "system", "content": "Hi" }]),
                json!([{ "type": "function_call_output", "call_id": "c", "output": "o" }]),
                json!([{ "role": "user", "content": "Hi", "name": "n" }]),
                json!([{ "role": "user", "content": [] }]),
            ],
            _ => vec![json!("Hi")],
        };
        for input in bad {
            failed(&mut socket, &steer(&id, input), code).await;
        }
    }
    // An image can't be read here: the successor isn't created, and the input comes back.
    gated.gate.add_permits(4);
    drop(socket);
    gated.server.stop().await;
}
