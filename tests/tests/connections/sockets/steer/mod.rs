//! Steering: a response ends at its next safe boundary, and another one goes on with the client's
//! input.

mod given_back;
mod successors;

use serde_json::{Value, json};
use tests::client::get;
use tests::server::TestServer;
use tests::socket::Socket;

/// Names of the events that end a response.
const LAST: [&str; 3] = ["response.completed", "response.incomplete", "response.failed"];

fn steer(response: &Value, input: Value) -> Value {
    let mut event = json!({ "type": "response.steer", "previous_response_id": response });
    event["input"] = input;
    event
}

fn weather() -> Value {
    json!([{ "type": "function", "name": "get_weather", "strict": false, "parameters": { "type": "object" } }])
}

/// Reads up to the first event of this type, which it returns. A response may not end before it,
/// unless the type says that one does.
async fn until(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let event = socket.event().await;
        if event["type"] == kind {
            return event;
        }
        let is_last = event["type"].as_str().is_some_and(|kind| kind == "error" || LAST.contains(&kind));
        assert!(!is_last, "{kind} is expected, not {event}");
    }
}

/// Steers a response, and reads up to the event that says that it is accepted.
async fn accepted(socket: &mut Socket, response: &Value, input: Value) {
    socket.send(&steer(response, input)).await;
    let accepted = until(socket, "response.steer.accepted").await;
    assert_eq!(accepted["steer"]["previous_response_id"], *response);
    assert!(accepted["steer"]["id"].as_str().expect("an id").starts_with("steer_"));
}

/// Asks, and reads up to an event of this type. Returns the response's id.
async fn asked(socket: &mut Socket, fields: Value, kind: &str) -> Value {
    socket.create(fields).await;
    let id = until(socket, "response.created").await["response"]["id"].clone();
    until(socket, kind).await;
    id
}

/// Asks, waits for an event of this type, and steers. Returns the steered response's id.
async fn asked_and_steered(socket: &mut Socket, fields: Value, kind: &str, input: Value) -> Value {
    let id = asked(socket, fields, kind).await;
    accepted(socket, &id, input).await;
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

/// Reads up to the event that gives input back.
async fn given_back(socket: &mut Socket, code: &str, input: &Value) -> Value {
    let failed = until(socket, "response.steer.failed").await;
    assert_eq!((&failed["error"]["code"], &failed["steer"]["input"]), (&json!(code), input), "{failed}");
    failed
}

/// Steers, and is refused.
async fn refused(socket: &mut Socket, event: &Value, code: &str) {
    socket.send(event).await;
    let failed = given_back(socket, code, &event["input"]).await;
    assert_eq!(failed["steer"].get("id"), None, "only accepted input has an id");
}

/// Items of a response's context, the oldest first.
async fn input_items(server: &TestServer, response: &Value) -> Vec<Value> {
    let path = format!("/v1/responses/{}/input_items?order=asc", response["id"].as_str().expect("an id"));
    get(server.address, &path).await.json()["data"].as_array().expect("items").clone()
}
