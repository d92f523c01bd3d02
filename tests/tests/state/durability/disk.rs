//! A disk that becomes read-only or full under a server: what can't be stored isn't begun, or fails
//! at its end, and nothing is stored by half.

use std::net::SocketAddr;

use api::responses::fold::Fold;
use model::record::Record;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use tests::client::{Open, get, json_request, metric, open, post};
use tests::process::ServerProcess;
use tests::tools::eventually;
use tokio::task::JoinSet;

const LONG: usize = 600;

fn rules() -> Value {
    let thought = format!("<think>\n{}\n</think>\n\n{}", "two ".repeat(200), "word ".repeat(LONG));
    json!([
        { "when": { "last_user_contains": "thought" }, "text": thought, "tokens_per_step": 1, "pace_ms": 5 },
        { "when": { "last_user_contains": "long" }, "text": "word ".repeat(LONG), "tokens_per_step": 1, "pace_ms": 5 },
        { "text": "Four." }
    ])
}

fn start(folder: &tempfile::TempDir) -> ServerProcess {
    let store = format!("sqlite:{}", folder.path().join("state.db").display());
    ServerProcess::start_on_a_disk_that_may_fail(&rules(), &["--store", &store])
}

/// Bounds the size of files that the server writes; at 0 every write fails, as on a read-only disk.
fn limit(server: &ServerProcess, bytes: Option<u64>) {
    let server = Pid::from_raw(i32::try_from(server.id()).unwrap());
    prlimit(server, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

fn body(input: &str, more: &Value) -> Value {
    let mut body = json!({ "model": "bench", "input": input, "reasoning": { "effort": "none" } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

async fn ask(address: SocketAddr, input: &str, more: Value) -> tests::client::Answer {
    post(address, "/v1/responses", &body(input, &more)).await
}

async fn begin(address: SocketAddr, more: Value) -> (Open, String) {
    let mut answer = open(address, json_request("/v1/responses", body("long", &more).to_string())).await;
    assert_eq!(answer.status, 200);
    let mut text = String::new();
    while !text.contains("response.output_text.delta") {
        text += std::str::from_utf8(&answer.next().await.unwrap()).unwrap();
    }
    (answer, text)
}

async fn rest((mut answer, mut text): (Open, String)) -> Vec<Value> {
    while let Some(bytes) = answer.next().await {
        text += std::str::from_utf8(&bytes).unwrap();
    }
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn id(response: &Value) -> &str {
    response["id"].as_str().unwrap()
}

async fn status(address: SocketAddr, id: &str) -> Value {
    let answer = get(address, &format!("/v1/responses/{id}")).await;
    assert_eq!(answer.status, 200, "{id}");
    answer.json()["status"].clone()
}

/// No write at all succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn read_only_disk_begins_nothing_that_must_be_stored() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let address = server.address;
    let before = ask(address, "2+2?", json!({})).await.json();
    assert_eq!(before["status"], "completed");
    let generated = r#"sluice_generation_tokens_total{model_name="bench"}"#;
    let tokens = tests::client::metric(address, generated).await;
    assert!(tokens > 0.0, "nothing is counted");

    limit(&server, Some(0));
    for more in [
        json!({}),
        json!({ "stream": true }),
        json!({ "background": true }),
        json!({ "previous_response_id": before["id"] }),
    ] {
        let refused = ask(address, "2+2?", more.clone()).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["code"]),
            (503, &json!("store_unavailable")),
            "{more}"
        );
        assert!(refused.headers.contains_key("retry-after"));
    }
    let created = post(address, "/v1/conversations", &json!({})).await;
    assert_eq!(
        (created.status.as_u16(), &created.json()["error"]["code"]),
        (503, &json!("store_unavailable"))
    );
    assert_eq!(tests::client::metric(address, generated).await, tokens);
    // What is stored is read and continued, and what needs no store is answered.
    assert_eq!(status(address, id(&before)).await, "completed");
    let unstored = json!({ "store": false, "previous_response_id": before["id"] });
    assert_eq!(ask(address, "2+2?", unstored).await.json()["status"], "completed");
    assert_eq!(get(address, "/health").await.status, 200);

    limit(&server, None);
    assert_eq!(
        ask(address, "2+2?", json!({ "previous_response_id": before["id"] })).await.json()["status"],
        "completed"
    );
    assert!(
        tests::client::metric(address, r#"sluice_store_errors_total{reason="unavailable"}"#).await >= 5.0
    );
}

/// The disk fails while answers are under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn librechat_14466_answer_without_stored_end_fails() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let address = server.address;
    let streamed = begin(address, json!({ "stream": true })).await;
    let background = begin(address, json!({ "stream": true, "background": true })).await;
    let unstored = begin(address, json!({ "stream": true, "store": false })).await;
    let mut whole = JoinSet::new();
    whole.spawn(ask(address, "long", json!({})));

    limit(&server, Some(0));
    let events = rest(streamed).await;
    let failed = &failed_end(&events);
    // Who follows the other one is told its end, too, and so is who comes later.
    let path = format!("/v1/responses/{}?stream=true", id(&background_response(&background.1)));
    let followed = rest(background).await;
    failed_end(&followed);
    let late = get(address, &path).await;
    assert!(late.body.ends_with(b"data: [DONE]\n\n"));
    let sums = [followed, late.events()].map(|events| {
        let mut fold = Fold::default();
        for event in &events {
            fold.add(event).unwrap();
        }
        fold.whole()
    });
    assert_eq!(sums[0], sums[1]);
    // In one piece: the request came before the disk failed, or after.
    let whole = whole.join_next().await.unwrap().unwrap();
    assert!(matches!(whole.status.as_u16(), 500 | 503), "{:?}", whole.body);
    assert_eq!(rest(unstored).await.last().unwrap()["type"], "response.completed");

    limit(&server, None);
    drop(server);
    let server = start(&folder);
    // Nobody stored an end: the server that comes next ends them.
    let log = get(server.address, &path).await.events();
    assert_eq!(log.last().unwrap()["type"], "response.failed");
    eventually("it is ended", async || status(server.address, id(failed)).await != "in_progress").await;
    assert_eq!(status(server.address, id(failed)).await, "failed");
}

/// An item that couldn't be stored when it finished comes with the answer's end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_whose_item_met_a_full_disk_is_stored_whole() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder);
    let address = server.address;
    let request = json!({ "model": "bench", "input": "a thought", "stream": true });
    let mut answer = open(address, json_request("/v1/responses", request.to_string())).await;
    let mut text = std::str::from_utf8(&answer.next().await.unwrap()).unwrap().to_owned();
    limit(&server, Some(0));
    let failed = || metric(address, r#"sluice_store_errors_total{reason="unavailable"}"#);
    eventually("the item isn't stored", async || failed().await > 0.0).await;
    limit(&server, None);
    while !text.contains("response.output_item.done") {
        text += std::str::from_utf8(&answer.next().await.unwrap()).unwrap();
    }
    let events = rest((answer, text)).await;
    let end = &events.last().unwrap()["response"];
    assert_eq!((&end["status"], end["output"].as_array().unwrap().len()), (&json!("completed"), 2));
    assert_eq!(get(address, &format!("/v1/responses/{}", id(end))).await.json(), *end);
}

/// The response of the one end that these events have, by which it failed.
fn failed_end(events: &[Value]) -> Value {
    let is_end = |event: &&Value| {
        ["completed", "incomplete", "failed"]
            .contains(&event["type"].as_str().unwrap().trim_start_matches("response."))
    };
    let ends: Vec<_> = events.iter().filter(is_end).collect();
    assert_eq!(ends.len(), 1, "{events:?}");
    let failed = &ends[0]["response"];
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("server_error")));
    assert!(events.iter().zip(0_u64..).all(|(event, number)| event["sequence_number"] == number));
    failed.clone()
}

/// Records are no reason to fail an answer, and go on once there is room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_cuts_records_and_no_answer() {
    const ROOM: u64 = 8 << 10;
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records");
    let numbers: Vec<String> = (0..LONG).map(|number| (number * number).to_string()).collect();
    let rules = json!([{ "text": numbers.join(" ") }]);
    let server = ServerProcess::start_on_a_disk_that_may_fail(
        &rules,
        &["--store", "memory", "--record", records.to_str().unwrap()],
    );
    let cut = || metric(server.address, "sluice_records_incomplete_total{reason=\"disk\"}");
    assert_eq!(cut().await, 0.0, "it is there from the start");
    for (room, expected) in [(Some(ROOM), 1.0), (Some(0), 2.0), (None, 2.0)] {
        limit(&server, room);
        let answer = ask(server.address, "2+2?", json!({ "stream": true })).await;
        let last = answer.events().pop().unwrap();
        assert_eq!(last["type"], "response.completed", "{last}");
        // Each record is cut off before the disk changes.
        eventually("the record is cut off", async || cut().await >= expected).await;
    }
    let log = server.stop();
    assert_eq!(log.matches("records can't be written").count(), 1, "{log}");
    let mut files: Vec<_> = std::fs::read_dir(&records).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let sizes = files.iter().map(|file| std::fs::metadata(file).unwrap().len()).collect::<Vec<_>>();
    assert!(sizes[0] <= ROOM && sizes[1] == 0 && sizes[2] > ROOM, "{sizes:?}");
    assert_eq!(Record::load(&files[0]).unwrap().end, None);
    assert!(Record::load(&files[1]).unwrap_err().to_string().contains("it is empty"));
    assert!(Record::load(&files[2]).unwrap().end.is_some());
}

/// The response of a stream's first event.
fn background_response(text: &str) -> Value {
    let first = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str::<Value>(first).unwrap()["response"].clone()
}
