//! Completions that can't be stored, and those whose end nobody waits for.

use std::sync::Arc;

use serde_json::{Value, json};
use store::{Bounds, Options, Purge, Sqlite, Store};
use tests::client::{Open, json_request, open, post};
use tests::fake_engine::{Action, FakeEngine, done, event, head};
use tests::server::{Setup, TestServer, memory};
use tests::tools::eventually;
use tokio::sync::Semaphore;

use super::kit::refusal;

const COMPLETIONS: &str = "/v1/chat/completions";

fn request(stream: bool) -> Value {
    json!({ "model": "qwen3-tiny", "messages": [{ "role": "user", "content": "x" }], "store": true, "stream": stream })
}

/// A server whose answers go on after their first token when the semaphore gets a permit.
async fn held(store: Arc<dyn Store>) -> (TestServer, FakeEngine, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&permits);
    let engine = FakeEngine::start(move |_, _| {
        let begun = [head(), event(&[300], None)].concat();
        let ended = [event(&[301], Some("stop")), done()].concat();
        vec![Action::Send(begun), Action::Wait(Arc::clone(&waits)), Action::Send(ended)]
    })
    .await;
    let mut setup = Setup { store: Some(store), ..Setup::default() };
    setup.model.engine = engine.url().parse().expect("a URL");
    (TestServer::start(setup).await, engine, permits)
}

async fn rest(open: &mut Open) -> String {
    let mut text = String::new();
    while let Some(bytes) = open.next().await {
        text += std::str::from_utf8(&bytes).expect("text");
    }
    text
}

/// A completion whose end can't be stored fails, so that nobody takes it for one that can be read
/// again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_cant_be_stored_is_an_error() {
    let store = memory();
    let (server, _engine, permits) = held(Arc::clone(&store)).await;
    let mut streamed = open(server.address, json_request(COMPLETIONS, request(true).to_string())).await;
    let mut seen = String::from_utf8(streamed.next().await.expect("a chunk").to_vec()).expect("text");
    store.purge(Purge::default()).await.expect("memory can be written");
    permits.add_permits(1);
    seen += &rest(&mut streamed).await;
    assert!(!seen.contains(r#""finish_reason":"stop""#), "{seen}");
    let error = seen.lines().rev().find_map(|line| line.strip_prefix("data: {\"error\":")).expect("an error");
    assert!(error.contains("could not be stored"), "{error}");
    assert!(seen.ends_with("data: [DONE]\n\n"));

    let purged = async {
        eventually("it runs", async || store.stats().await.expect("figures").running != 0).await;
        store.purge(Purge::default()).await.expect("memory can be written");
        permits.add_permits(1);
    };
    let body = request(false);
    let (whole, ()) = tokio::join!(post(server.address, COMPLETIONS, &body), purged);
    assert_eq!(refusal(&whole), (500, "server_error".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_has_nothing_stored() {
    let store = memory();
    let (server, engine, _permits) = held(Arc::clone(&store)).await;
    let mut streamed = open(server.address, json_request(COMPLETIONS, request(true).to_string())).await;
    streamed.next().await.expect("a chunk");
    assert_eq!(store.stats().await.expect("figures").running, 1);
    drop(streamed);
    engine.received.wait_until(|log| log.disconnected() == 1).await;
    eventually("it ends", async || store.stats().await.expect("figures").running == 0).await;
    assert_eq!(store.stats().await.expect("figures").responses, 0);
    assert!(store.stats().await.expect("figures").owners.iter().all(|(_, bytes)| *bytes == 0));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_room_means_no_answer_and_no_store_no_keeping() {
    let bounds = Bounds { owner_bytes: 100, ..Bounds::default() };
    let full = Sqlite::memory(&Options { bounds, ..Options::default() }).expect("memory can be had");
    let server = TestServer::start(Setup { store: Some(Arc::new(full)), ..Setup::default() }).await;
    for stream in [false, true] {
        let answer = post(server.address, COMPLETIONS, &request(stream)).await;
        assert_eq!(refusal(&answer), (503, "store_full".to_owned()));
    }
    server.stop().await;
    let server = TestServer::start(Setup { store: None, ..Setup::default() }).await;
    let mut body = request(false);
    body["max_tokens"] = json!(1);
    let answer = post(server.address, COMPLETIONS, &body).await;
    assert_eq!(answer.status, 200);
    assert!(answer.headers["x-sluice-warning"].to_str().expect("text").contains("store ignored"));
    let list = tests::client::get(server.address, COMPLETIONS).await;
    assert_eq!(refusal(&list), (400, "store_disabled".to_owned()));
    server.stop().await;
}
