//! A clock that is set forward and back under a server: what runs goes on, what is stored stays,
//! and pages go on where they ended.

use std::sync::Arc;

use serde_json::{Value, json};
use store::{Options, Sqlite, Store, TimeSource};
use tests::client::{answered, get};
use tests::server::{Setup, TestServer};
use tests::tools::eventually;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn set_clock_ends_nothing_running_and_mixes_no_pages() {
    let now = 1_800_000_000_000;
    let clock = TimeSource::manual(now);
    let store = Arc::new(Sqlite::memory(&Options { clock: clock.clone(), ..Options::default() }).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let rules = json!([
        { "when": { "last_user_contains": "endless" }, "text": "It begins", "finish": "hang" },
        { "text": "Four." }
    ]);
    let mut setup = Setup::replay(folder.path(), &rules);
    setup.store = Some(store.clone());
    setup.limits.http.grace = std::time::Duration::from_millis(100);
    let ours = store::Served { models: vec!["qwen3-tiny".to_owned()], version: 1 };
    let server = TestServer::start(setup).await;
    let address = server.address;
    let respond = async |input: &str, more: Value| {
        let mut body = json!({ "model": "qwen3-tiny", "input": input, "reasoning": { "effort": "none" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answered(address, "/v1/responses", &body).await
    };
    let path = |response: &Value| format!("/v1/responses/{}", response["id"].as_str().unwrap());
    let running = respond("endless", json!({ "background": true })).await;
    eventually("it runs", async || get(address, &path(&running)).await.json()["status"] == "in_progress")
        .await;
    let (mut parent, mut completions) = (respond("2+2?", json!({})).await, Vec::new());
    for date in [now + HOUR, now - HOUR, now + 20 * DAY, now - 9 * DAY, now] {
        clock.set(date);
        // Its server would take over and fail what it thinks lost.
        assert!(store.sweep().await.unwrap().is_empty() && store.claim(&ours).await.unwrap().is_none());
        parent = respond("2+2?", json!({ "previous_response_id": parent["id"] })).await;
        let messages = json!([{ "role": "user", "content": "2+2?" }]);
        let chat = json!({ "model": "qwen3-tiny", "messages": messages, "store": true });
        completions.push(answered(address, "/v1/chat/completions", &chat).await["id"].clone());
    }
    assert_eq!(get(address, &path(&running)).await.json()["status"], "in_progress");
    let cancelled = answered(address, &format!("{}/cancel", path(&running)), &Value::Null).await;
    assert_eq!(cancelled["status"], "cancelled");

    assert_eq!(store.evict().await, Ok(store::Evicted::default()));
    let items = get(address, &format!("{}/input_items?limit=100", path(&parent))).await.json();
    assert_eq!(items["data"].as_array().map(Vec::len), Some(11));
    let (mut listed, mut after) = (Vec::new(), String::new());
    for _ in 0..completions.len() {
        let page = get(address, &format!("/v1/chat/completions?limit=1{after}")).await.json();
        listed.push(page["data"][0]["id"].clone());
        after = format!("&after={}", page["last_id"].as_str().unwrap());
    }
    assert_eq!(listed, completions);
    server.stop().await;
}
