//! Items of an answer whose server is killed (SIGKILL) while a client reads it: those that were
//! finished are there after the next start.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tests::client::{Open, answered, get, json_request, open, post};
use tests::process::ServerProcess;
use tests::tools::eventually;

fn start(file: &Path) -> ServerProcess {
    let text = format!("<think>\nTwo and two.\n</think>\n\n{}", "word ".repeat(10_000));
    let rules = json!([
        { "when": { "last_user_contains": "long" }, "text": text, "tokens_per_step": 1, "pace_ms": 5 },
        { "text": "Four." }
    ]);
    ServerProcess::start(&rules, &["--store", &format!("sqlite:{}", file.display())])
}

fn body(more: &Value) -> Value {
    let mut body = json!({ "model": "bench", "input": "a long one", "stream": true });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// Reads a stream until its message is under way. Returns it, so that its client doesn't leave, and
/// the events so far.
async fn begin(address: SocketAddr, body: &Value) -> (Open, Vec<Value>) {
    let mut answer = open(address, json_request("/v1/responses", body.to_string())).await;
    assert_eq!(answer.status, 200);
    let mut text = String::new();
    while !text.contains("response.output_text.delta") {
        text += std::str::from_utf8(&answer.next().await.unwrap()).unwrap();
    }
    let whole = &text[..text.rfind("\n\n").unwrap()];
    let data = whole.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    (answer, events)
}

/// The response once the new server has ended it.
async fn ended(address: SocketAddr, id: &Value) -> Value {
    let path = format!("/v1/responses/{}", id.as_str().unwrap());
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
    // The object's first status is the response's own.
    let metadata = json!({ "status": "queued" });
    let sealed = json!({ "include": ["reasoning.encrypted_content"], "metadata": metadata });
    let in_conversation = json!({ "conversation": conversation["id"] });
    let mut told = Vec::new();
    for more in [&sealed, &in_conversation] {
        told.push(begin(server.address, &body(more)).await);
    }
    let mut before = Vec::new();
    for (_, events) in &told {
        let path = format!("/v1/responses/{}", events[0]["response"]["id"].as_str().unwrap());
        let response = get(server.address, &path).await.json();
        assert_eq!(
            (&response["status"], &response["metadata"]),
            (&json!("in_progress"), &events[0]["response"]["metadata"])
        );
        before.push(response["output"].clone());
    }
    drop(server);
    let server = start(&file);
    for ((_, events), before) in told.iter().zip(before) {
        let response = ended(server.address, &events[0]["response"]["id"]).await;
        assert_eq!(
            (&response["status"], &response["error"]["code"]),
            (&json!("failed"), &json!("server_error"))
        );
        let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
        let done: Vec<Value> = done.map(|event| event["item"].clone()).collect();
        assert_eq!((done.len(), &done[0]["type"]), (1, &json!("reasoning")));
        assert_eq!((&response["output"], &before), (&json!(done), &json!(done)));
    }
    // As one that failed it isn't continued, and its conversation has nothing of it and is free.
    let parent = json!({ "previous_response_id": told[0].1[0]["response"]["id"], "stream": false });
    let refused = post(server.address, "/v1/responses", &body(&parent)).await;
    assert_eq!(refused.json()["error"]["code"], "previous_response_not_found");
    let items = format!("/v1/conversations/{}/items", conversation["id"].as_str().unwrap());
    assert_eq!(get(server.address, &items).await.json()["data"], json!([]));
    begin(server.address, &body(&in_conversation)).await;
}
