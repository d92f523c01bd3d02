//! Threads of Messages: what a later turn sees, each refusal that clients act on, and what is left of a turn that fails.

use std::sync::Arc;

use serde_json::{Value, json};
use store::{Bounds, Options, Sqlite, Store};
use tests::client::{answered, get, json_request, open, post};
use tests::server::{Setup, TestServer, memory};
use tests::tools::eventually;

const MESSAGES: &str = "/v1/messages";

fn rules() -> Value {
    json!([
        { "when": { "last_user_contains": "look", "tool_results": 0, "tool_declared": "look" },
          "text": "<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>" },
        { "when": { "last_role": "tool", "contains": "sunny" }, "text": "It is sunny." },
        { "when": { "last_user_contains": "endless" }, "text": "It begins", "finish": "hang" },
        { "text": "Hello." },
    ])
}

async fn serve() -> (TestServer, tempfile::TempDir) {
    serve_on(memory()).await
}

async fn serve_on(store: Arc<dyn Store>) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let setup = Setup { store: Some(store), ..Setup::replay(folder.path(), &rules()) };
    (TestServer::start(setup).await, folder)
}

fn body(thread: &Value, messages: &Value, more: &Value) -> Value {
    let mut body =
        json!({ "model": "qwen3-tiny", "max_tokens": 100, "thread": thread, "messages": messages });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

fn said(text: &str) -> Value {
    json!([{ "role": "user", "content": text }])
}

fn go_on(message: &Value) -> Value {
    json!({ "type": "continue", "previous_message_id": message["id"] })
}

fn head() -> Value {
    json!({ "system": "Be brief.", "tools": [{ "name": "look", "input_schema": { "type": "object" } }] })
}

async fn refused(server: &TestServer, body: &Value) -> (u16, String) {
    let answer = post(server.address, MESSAGES, body).await;
    let code = answer.json()["error"]["details"]["error_code"].as_str().unwrap_or_default().to_owned();
    (answer.status.as_u16(), code)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_turn_sees_what_the_thread_began_with() {
    let (server, _folder) = serve().await;
    let create = json!({ "type": "create" });
    let first = answered(server.address, MESSAGES, &body(&create, &said("look"), &head())).await;
    assert_eq!(first["stop_reason"], "tool_use");
    let result = json!([{ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": first["content"][0]["id"], "content": "sunny" }
    ] }]);
    // The prompt has the same tokens as that of the whole conversation.
    let mut counted = body(&go_on(&first), &result, &json!({}));
    counted.as_object_mut().expect("an object").remove("max_tokens");
    let short = answered(server.address, "/v1/messages/count_tokens", &counted).await;
    let whole = json!([said("look")[0], { "role": "assistant", "content": first["content"] }, result[0]]);
    let mut sent = body(&Value::Null, &whole, &head());
    sent.as_object_mut().expect("an object").remove("max_tokens");
    assert_eq!(short, answered(server.address, "/v1/messages/count_tokens", &sent).await);

    let mut streamed = body(&go_on(&first), &result, &json!({}));
    streamed["stream"] = json!(true);
    let events = post(server.address, MESSAGES, &streamed).await.events();
    let second = &events[0]["message"];
    let text: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(text, "It is sunny.");
    let third = answered(server.address, MESSAGES, &body(&go_on(second), &said("Hi."), &json!({}))).await;
    assert_eq!(third["content"][0]["text"], "Hello.");
    // Nothing of it is a response.
    let path = format!("/v1/responses/{}", first["id"].as_str().expect("an id"));
    assert_eq!(get(server.address, &path).await.status.as_u16(), 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_refusal_has_the_code_that_clients_act_on() {
    let (server, _folder) = serve().await;
    let create = json!({ "type": "create" });
    let first = answered(server.address, MESSAGES, &body(&create, &said("Hi."), &head())).await;
    let again = body(&go_on(&first), &said("Hi."), &json!({}));
    let unknown =
        body(&json!({ "type": "continue", "previous_message_id": "msg_none" }), &said("Hi."), &json!({}));
    assert_eq!(refused(&server, &unknown).await, (404, "thread_not_found".to_owned()));
    let other = body(&go_on(&first), &said("Hi."), &json!({ "system": "Be long." }));
    assert_eq!(refused(&server, &other).await, (400, "thread_fingerprint_mismatch".to_owned()));
    // The same again is no other.
    let second = answered(server.address, MESSAGES, &body(&go_on(&first), &said("Hi."), &head())).await;
    assert_eq!(refused(&server, &again).await, (400, "thread_already_continued".to_owned()));
    assert_eq!(
        answered(server.address, MESSAGES, &body(&go_on(&second), &said("Hi."), &json!({}))).await["type"],
        "message"
    );
    for thread in [json!({ "type": "continue" }), json!({ "type": "fork" }), json!({})] {
        assert_eq!(refused(&server, &body(&thread, &said("Hi."), &json!({}))).await.0, 400, "{thread}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_is_refused_leaves_its_thread_as_it_was() {
    let (server, _folder) = serve().await;
    let create = json!({ "type": "create" });
    let first = answered(server.address, MESSAGES, &body(&create, &said("Hi."), &json!({}))).await;
    let orphan = json!([{ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "none", "content": "x" }] }]);
    assert_eq!(refused(&server, &body(&go_on(&first), &orphan, &json!({}))).await.0, 400);
    let long = said(&"word ".repeat(100_000));
    assert_eq!(refused(&server, &body(&go_on(&first), &long, &json!({}))).await.0, 400);
    let next = answered(server.address, MESSAGES, &body(&go_on(&first), &said("Hi."), &json!({}))).await;
    assert_eq!(next["content"][0]["text"], "Hello.");
    server.stop().await;
}

/// Anthropic's clients send the whole conversation without a thread on this code; on any other the conversation ended here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_without_room_is_refused_so_that_clients_go_on() {
    let create = json!({ "type": "create" });
    for (bounds, why) in [
        (Bounds { links: 1, ..Bounds::default() }, "too many responses"),
        (Bounds { context_bytes: 2000, ..Bounds::default() }, "too many bytes"),
        (Bounds { owner_bytes: 3200, ..Bounds::default() }, "the store is full"),
    ] {
        let options = Options { bounds, ..Options::default() };
        let (server, _folder) = serve_on(Arc::new(Sqlite::memory(&options).expect("memory"))).await;
        let first = answered(server.address, MESSAGES, &body(&create, &said("Hi."), &json!({}))).await;
        let long = said(&"word ".repeat(500));
        let more = post(server.address, MESSAGES, &body(&go_on(&first), &long, &json!({}))).await;
        let error = &more.json()["error"];
        let code = &error["details"]["error_code"];
        assert_eq!((more.status.as_u16(), code), (400, &json!("thread_unsupported_request")), "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(why)), "{error}");
        let whole = json!([said("Hi.")[0], { "role": "assistant", "content": first["content"] }, long[0]]);
        let alone = answered(server.address, MESSAGES, &body(&Value::Null, &whole, &json!({}))).await;
        assert_eq!(alone["content"][0]["text"], "Hello.");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_continuations_at_once_one_waits_for_the_other() {
    let (server, _folder) = serve().await;
    let create = json!({ "type": "create" });
    let first = answered(server.address, MESSAGES, &body(&create, &said("Hi."), &json!({}))).await;
    let endless = body(&go_on(&first), &said("endless"), &json!({ "stream": true }));
    let mut running = open(server.address, json_request(MESSAGES, endless.to_string())).await;
    assert!(running.next().await.is_some(), "it has begun");
    let next = body(&go_on(&first), &said("Hi."), &json!({}));
    assert_eq!(refused(&server, &next).await, (400, "thread_continue_in_flight".to_owned()));
    // Its client leaves: that turn is cancelled, and the thread is as it was.
    drop(running);
    let mut told = (0, String::new());
    eventually("the turn is given up", async || {
        told = refused(&server, &next).await;
        told.1 != "thread_continue_in_flight"
    })
    .await;
    assert_eq!(told, (200, String::new()));
    server.stop().await;
}
