//! What clients of web sockets were told outlives the server, which is killed (SIGKILL) amid their answers:
//! items that were finished, and responses that ended.
//!
//! `SLUICE_SERVER_KILLS` says how often.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::SinkExt;
use seeded::SplitMix64;
use serde_json::{Value, json};
use tests::client::get;
use tests::process::ServerProcess;
use tests::socket::{Socket, is_last};
use tests::tools::eventually;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

use super::clients::is_end;

const CLIENTS: usize = 8;
/// Events that all clients are told before a kill: at least, and how many more at most.
const EVENTS: (u64, usize) = (800, 800);
/// Events of an answer, at most: so some were told of an end before a kill.
const OF_AN_ANSWER: usize = 99;
/// Responses of a chain.
const CHAIN: usize = 4;

fn start(file: &Path) -> ServerProcess {
    let text = format!("<think>\nTwo and two.\n</think>\n\n{}", "word ".repeat(20));
    let rules = json!([{ "text": text, "tokens_per_step": 2, "pace_ms": 2 }]);
    ServerProcess::start(&rules, &["--store", &format!("sqlite:{}", file.display())])
}

/// Counts events, and tells when enough have come.
struct Countdown {
    left: AtomicU64,
    over: Notify,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sockets_were_told_outlives_kill_9() {
    let kills = std::env::var("SLUICE_SERVER_KILLS").map_or(3, |kills| kills.parse().unwrap());
    let mut random = SplitMix64::new(std::process::id().into());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let mut server = start(&file);
    let (mut ended, mut finished) = (0, 0);
    for _ in 0..kills {
        let told = killed_amid_answers(server, EVENTS.0 + random.below(EVENTS.1) as u64).await;
        server = start(&file);
        for events in told {
            match check(server.address, &events).await {
                None => ended += 1,
                Some(items) => finished += items,
            }
        }
    }
    assert!(ended > 0 && finished > 0, "{ended} ended, the others had {finished} finished items");
}

/// Kills a server once its clients were told so many events. Returns those of each response.
async fn killed_amid_answers(server: ServerProcess, events: u64) -> Vec<Vec<Value>> {
    let countdown = Arc::new(Countdown { left: events.into(), over: Notify::new() });
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(ask(server.address, Arc::clone(&countdown)));
    }
    countdown.over.notified().await;
    drop(server);
    clients.join_all().await.concat()
}

/// Asks over a socket until the server is gone: chains of responses, one after the other.
async fn ask(address: SocketAddr, countdown: Arc<Countdown>) -> Vec<Vec<Value>> {
    let mut socket = Socket::open(address).await;
    let mut told: Vec<Vec<Value>> = Vec::new();
    loop {
        let parent = told
            .last()
            .filter(|_| !told.len().is_multiple_of(CHAIN))
            .map(|events| events[0]["response"]["id"].clone());
        let create = json!({ "type": "response.create", "model": "bench", "input": "Hi", "previous_response_id": parent });
        if socket.0.send(Message::text(create.to_string())).await.is_err() {
            return told;
        }
        let mut events: Vec<Value> = Vec::new();
        while !events.last().is_some_and(is_last) {
            let Some(Message::Text(text)) = socket.next_message().await else {
                told.extend(Some(events).filter(|events| !events.is_empty()));
                return told;
            };
            events.push(serde_json::from_str(&text).unwrap());
            if countdown.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                countdown.over.notify_one();
            }
        }
        told.push(events);
    }
}

/// Checks the response of these events on the server that came after the one that sent them. Returns
/// how many finished items they told of, if they didn't tell its end.
async fn check(address: SocketAddr, events: &[Value]) -> Option<usize> {
    assert!(
        events.iter().zip(0_u64..).all(|(event, number)| event["sequence_number"] == number),
        "{events:?}"
    );
    let path = format!("/v1/responses/{}", events[0]["response"]["id"].as_str().unwrap());
    let mut response = Value::Null;
    eventually("the new server ends it", async || {
        response = get(address, &path).await.json();
        response["status"].as_str().is_some_and(is_end)
    })
    .await;
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    let done: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    assert!(response["output"].as_array().unwrap().starts_with(&done), "{response} after {events:?}");
    let last = &events[events.len() - 1];
    if is_last(last) {
        assert_eq!((&last["type"], &response), (&json!("response.completed"), &last["response"]));
        assert!(events.len() <= OF_AN_ANSWER, "{}", events.len());
        return None;
    }
    let is_lost = response["error"]["code"] == "server_error";
    assert!(is_lost || response["status"] == "completed", "{response}");
    Some(done.len())
}
