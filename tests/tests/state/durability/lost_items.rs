//! Items of an answer whose server is killed (SIGKILL) while a client reads it: those that were
//! finished are there after the next start, but at most the last of them, whose event waits for no
//! commit.

use std::net::SocketAddr;
use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};
use tests::client::{Open, answered, get, json_request, open, post};
use tests::process::ServerProcess;
use tests::tools::eventually;

fn start(file: &Path) -> ServerProcess {
    let rule = |input: &str, reasoning: &str, begin: &str| {
        let text = format!("<think>\n{reasoning}\n</think>\n\n{begin}{}", "word ".repeat(10_000));
        json!({ "when": { "last_user_contains": input }, "text": text, "tokens_per_step": 1, "pace_ms": 5 })
    };
    let call = "I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n";
    let rules = json!([
        rule("long", "Two and two.", ""),
        rule("thought", &"two ".repeat(200), ""),
        rule("call", "Two and two.", call),
        { "text": "Four." }
    ]);
    ServerProcess::start(&rules, &["--store", &format!("sqlite:{}", file.display())])
}

fn body(more: &Value) -> Value {
    let mut body = json!({ "model": "bench", "input": "a long one", "stream": true });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// A stream that is read. Its client leaves when it is dropped.
struct Reading {
    answer: Open,
    text: String,
}

impl Reading {
    async fn begin(address: SocketAddr, body: &Value) -> Self {
        let answer = open(address, json_request("/v1/responses", body.to_string())).await;
        assert_eq!(answer.status, 200);
        Self { answer, text: String::new() }
    }

    /// Reads until there are `count` whole events of this type. Returns all events so far.
    async fn until(&mut self, count: usize, kind: &str) -> Vec<Value> {
        loop {
            let whole = &self.text[..self.text.rfind("\n\n").unwrap_or_default()];
            let data = whole.lines().filter_map(|line| line.strip_prefix("data: "));
            let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
            if events.iter().filter(|event| event["type"] == kind).count() >= count {
                return events;
            }
            self.text += std::str::from_utf8(&self.answer.next().await.unwrap()).unwrap();
        }
    }
}

/// The items that finished by these events.
fn done(events: &[Value]) -> Vec<Value> {
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    done.map(|event| event["item"].clone()).collect()
}

/// Number of output items in the file.
fn stored_items(file: &Path) -> i64 {
    let count = "SELECT COUNT(*) FROM item WHERE side = 1";
    Connection::open(file).unwrap().query_row(count, [], |row| row.get(0)).unwrap()
}

/// The response once the new server has ended it.
async fn ended(address: SocketAddr, events: &[Value]) -> Value {
    let path = format!("/v1/responses/{}", events[0]["response"]["id"].as_str().unwrap());
    let mut response = Value::Null;
    eventually("the new server ends it", async || {
        response = get(address, &path).await.json();
        response["status"] != "in_progress"
    })
    .await;
    response
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn finished_items_of_a_killed_foreground_stream_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let server = start(&file);
    let conversation = answered(server.address, "/v1/conversations", &json!({})).await;
    let sealed = json!({ "include": ["reasoning.encrypted_content"] });
    let in_conversation = json!({ "conversation": conversation["id"] });
    let mut told = Vec::new();
    for more in [&sealed, &in_conversation] {
        let mut reading = Reading::begin(server.address, &body(more)).await;
        let events = reading.until(1, "response.output_text.delta").await;
        told.push((reading, events));
    }
    eventually("both are stored", async || stored_items(&file) == 2).await;
    drop(server);
    let server = start(&file);
    for (_, events) in &told {
        let response = ended(server.address, events).await;
        assert_eq!(
            (&response["status"], &response["error"]["code"]),
            (&json!("failed"), &json!("server_error"))
        );
        let done = done(events);
        assert_eq!((done.len(), &done[0]["type"]), (1, &json!("reasoning")));
        assert_eq!(response["output"], json!(done));
    }
    // As one that failed it isn't continued, and its conversation has nothing of it and is free.
    let parent = json!({ "previous_response_id": told[0].1[0]["response"]["id"], "stream": false });
    let refused = post(server.address, "/v1/responses", &body(&parent)).await;
    assert_eq!(refused.json()["error"]["code"], "previous_response_not_found");
    let items = format!("/v1/conversations/{}/items", conversation["id"].as_str().unwrap());
    assert_eq!(get(server.address, &items).await.json()["data"], json!([]));
    Reading::begin(server.address, &body(&in_conversation)).await;
}

/// Another process holds the file, so that nothing can be committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_of_a_finished_item_waits_for_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let server = start(&file);
    let mut reading = Reading::begin(server.address, &body(&json!({ "input": "a thought" }))).await;
    let holder = Connection::open(&file).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let events = reading.until(1, "response.output_item.done").await;
    assert_eq!(stored_items(&file), 0);
    holder.execute_batch("COMMIT").unwrap();
    eventually("it is stored", async || stored_items(&file) == 1).await;
    drop(server);
    let server = start(&file);
    assert_eq!(ended(server.address, &events).await["output"], json!(done(&events)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_server_lacks_no_finished_item_but_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let tools = json!([{ "type": "function", "name": "f", "parameters": { "type": "object" } }]);
    for _ in 0..4 {
        let server = start(&file);
        let body = body(&json!({ "input": "a call", "tools": tools }));
        let mut reading = Reading::begin(server.address, &body).await;
        let events = reading.until(3, "response.output_item.done").await;
        drop(server);
        let server = start(&file);
        let (done, response) = (done(&events), ended(server.address, &events).await);
        let kept = response["output"].as_array().unwrap();
        assert!(kept.len() >= 2 && done.starts_with(kept), "{done:?} {response}");
    }
}
