//! Background responses of many owners at once: each fills its own queue, and no other's.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use store::{Bounds, Options, Sqlite, Store};
use tests::client::Answer;
use tests::server::{Setup, TestServer};
use tests::tools::eventually;

use crate::support;

const OWNERS: usize = 12;
const RUNNING: u64 = 2;
const QUEUED: u64 = 5;

async fn ask(server: &TestServer, owner: usize, method: Method, path: &str, body: &Value) -> Answer {
    support::ask(server, &format!("key-of-{owner}"), method, path, body).await
}

async fn queue(server: &TestServer, owner: usize, input: &str) -> Answer {
    let body = json!({ "model": "qwen3-tiny", "input": input, "background": true, "reasoning": { "effort": "none" } });
    ask(server, owner, Method::POST, "/v1/responses", &body).await
}

/// Waits until an owner's response has a status.
async fn until(server: &TestServer, owner: usize, queued: &Answer, status: &str) {
    let path = format!("/v1/responses/{}", queued.json()["id"].as_str().unwrap());
    eventually("it has the status", async || {
        ask(server, owner, Method::GET, &path, &Value::Null).await.json()["status"] == status
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_with_full_queues_keep_no_other_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let rules = json!([
        { "when": { "last_user_contains": "endless" }, "text": "It begins", "finish": "hang" },
        { "text": "Four." }
    ]);
    let bounds = Bounds { running: RUNNING, queued: QUEUED, ..Bounds::default() };
    let store = Arc::new(Sqlite::memory(&Options { bounds, ..Options::default() }).unwrap());
    let mut setup = Setup::replay(folder.path(), &rules);
    setup.store = Some(store.clone());
    setup.keys = (0..=OWNERS).map(|owner| format!("owner-{owner}=key-of-{owner}")).collect();
    setup.limits.http.grace = std::time::Duration::from_millis(100);
    let server = TestServer::start(setup).await;

    let flood = async |owner: usize| {
        let running = [queue(&server, owner, "endless").await, queue(&server, owner, "endless").await];
        for running in &running {
            until(&server, owner, running, "in_progress").await;
        }
        let (mut waiting, mut refused) = (0, 0);
        for _ in 0..4 * QUEUED {
            let answer = queue(&server, owner, "endless").await;
            if answer.status == 200 {
                waiting += 1;
                continue;
            }
            refused += 1;
            let error = &answer.json()["error"];
            assert_eq!((answer.status.as_u16(), &error["code"]), (429, &json!("rate_limit_exceeded")));
            assert!(error["message"].as_str().unwrap().contains("a key may have 5"), "{error}");
            assert!(answer.headers.contains_key("retry-after"));
        }
        assert_eq!((waiting, refused), (QUEUED, 3 * QUEUED), "owner {owner}");
    };
    futures_util::future::join_all((0..OWNERS).map(flood)).await;
    let stats = store.stats().await.unwrap();
    let owners = OWNERS as u64;
    assert_eq!((stats.running_background, stats.queued), (owners * RUNNING, owners * QUEUED));

    // One who comes last has the whole of its own queue, and what it queues runs at once.
    for _ in 0..3 * QUEUED {
        let last = queue(&server, OWNERS, "2+2?").await;
        assert_eq!(last.status, 200);
        until(&server, OWNERS, &last, "completed").await;
    }
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.running_background, stats.queued), (owners * RUNNING, owners * QUEUED));
    server.stop().await;
}
