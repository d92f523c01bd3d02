//! Bounds of bytes: the oldest conversations go, the owner's only, and what can't fit is refused.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use store::{Bounds, Options, Sqlite, Store};
use tests::server::{Setup, TestServer};

use super::kit::{Client, message, refusal};

async fn bounded(bounds: Bounds) -> (TestServer, Client, Client) {
    let store = Sqlite::memory(&Options { bounds, ..Options::default() }).expect("memory can be had");
    let keys = vec!["alice=key-of-alice".to_owned(), "bob=key-of-bob".to_owned()];
    let server = TestServer::start(Setup { keys, store: Some(Arc::new(store)), ..Setup::default() }).await;
    let (alice, bob) = (Client::new(&server, "key-of-alice"), Client::new(&server, "key-of-bob"));
    (server, alice, bob)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_conversations_evict_only_their_owners_oldest() {
    let (server, alice, bob) = bounded(Bounds { owner_bytes: 64 << 10, ..Bounds::default() }).await;
    let others = bob.conversation(&["of bob"]).await;
    let mut made = Vec::new();
    for number in 0..400 {
        made.push(alice.conversation(&[&number.to_string()]).await);
    }
    assert_eq!(bob.texts(&others, "asc", 9).await, ["of bob"]);
    let mut there = Vec::new();
    for conversation in &made {
        there.push(alice.get(conversation).await.status == 200);
    }
    let kept = there.iter().filter(|there| **there).count();
    // Each is counted with some hundred bytes.
    assert!((64..200).contains(&kept), "{kept}");
    assert!(there[400 - kept..].iter().all(|there| *there), "the newest are kept");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cant_fit_is_refused_and_nothing_goes_for_it() {
    let bounds = Bounds { owner_bytes: 64 << 10, context_bytes: 16 << 10, ..Bounds::default() };
    let (server, alice, _) = bounded(bounds).await;
    let conversation = alice.conversation(&["kept"]).await;
    let long = "x".repeat(20 << 10);
    let answer = alice.post(&format!("{conversation}/items"), json!({ "items": [message(&long)] })).await;
    assert_eq!(refusal(&answer), (400, "context_length_exceeded".to_owned()));
    let answer = alice.post("/v1/conversations", json!({ "items": [message(&long)] })).await;
    assert_eq!(refusal(&answer), (400, "context_length_exceeded".to_owned()));
    assert_eq!(alice.texts(&conversation, "asc", 9).await, ["kept"]);
    server.stop().await;

    let (server, alice, _) = bounded(Bounds { owner_bytes: 4 << 10, ..Bounds::default() }).await;
    let conversation = alice.conversation(&["kept"]).await;
    let answer = alice.post("/v1/conversations", json!({ "items": [message(&"x".repeat(8 << 10))] })).await;
    assert_eq!(refusal(&answer), (503, "store_full".to_owned()));
    assert!(answer.headers.contains_key("retry-after"));
    assert_eq!(alice.texts(&conversation, "asc", 9).await, ["kept"]);
    server.stop().await;
}

/// A page without room for all of its items was refused for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_of_large_items_ends_earlier_and_says_that_more_follow() {
    let mut setup = Setup::default();
    setup.limits.model.accounts.memory = 8 << 20;
    setup.limits.http.page_bytes = 2 << 20;
    let server = TestServer::start(setup).await;
    let client = Client::new(&server, "any");
    let conversation = client.conversation(&[]).await;
    let items = format!("{conversation}/items");
    let mut ids = Vec::new();
    for _ in 0..8 {
        let added = client.post(&items, json!({ "items": [message(&"x".repeat(600 << 10))] })).await;
        ids.push(added.json()["first_id"].as_str().expect("an id").to_owned());
    }
    let page = client.get(&items).await.json();
    assert_eq!((page["data"].as_array().map(Vec::len), &page["has_more"]), (Some(3), &json!(true)));
    assert_eq!(client.texts(&conversation, "asc", 100).await.len(), 8);
    for id in ids {
        assert_eq!(client.get(&format!("{items}/{id}")).await.status, 200);
    }
    server.stop().await;
}

/// They held the memory for as long as they liked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unread_large_pages_give_their_memory_back() {
    let mut setup = Setup::default();
    setup.limits.model.accounts.memory = 64 << 20;
    setup.limits.http.slow_reader = Duration::from_millis(50);
    let server = TestServer::start(setup).await;
    let client = Client::new(&server, "any");
    let conversation = client.conversation(&[]).await;
    let items = format!("{conversation}/items");
    for _ in 0..6 {
        let text = "x".repeat(4 << 20);
        assert_eq!(client.post(&items, json!({ "items": [message(&text)] })).await.status, 200);
    }
    let silent = || {
        let mut socket = TcpStream::connect(server.address).expect("it listens");
        write!(socket, "GET {items} HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("it reads");
        socket.read_exact(&mut [0; 15]).expect("it answers");
        socket
    };
    let crowd: Vec<TcpStream> = (0..8).map(|_| silent()).collect();
    let whole = async {
        while client.get(&items).await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    let read = tokio::time::timeout(Duration::from_mins(1), whole).await;
    assert!(read.is_ok(), "their memory is held");
    drop(crowd);
    server.stop().await;
}

/// The most metadata that a request may have.
fn metadata(letter: char) -> Value {
    let text = |length: usize| letter.to_string().repeat(length);
    (0..16)
        .map(|number| (format!("{number:02}{}", text(62)), json!(text(512))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completion_floods_stay_within_their_owners_bytes() {
    const BYTES: u64 = 256 << 10;
    let bounds = Bounds { owner_bytes: BYTES, ..Bounds::default() };
    let store =
        Arc::new(Sqlite::memory(&Options { bounds, ..Options::default() }).expect("memory can be had"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = vec!["alice=key-of-alice".to_owned(), "bob=key-of-bob".to_owned()];
    let setup = Setup::replay(folder.path(), &json!([{ "text": "said" }]));
    let server = TestServer::start(Setup { keys, store: Some(store.clone()), ..setup }).await;
    let (alice, bob) = (Client::new(&server, "key-of-alice"), Client::new(&server, "key-of-bob"));
    let complete = async |client: Client, metadata: Value| {
        let messages = json!([{ "role": "user", "content": "x" }]);
        let body =
            json!({ "model": "qwen3-tiny", "messages": messages, "store": true, "metadata": metadata });
        let answer = client.post("/v1/chat/completions", body).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        format!("/v1/chat/completions/{}", answer.json()["id"].as_str().expect("an id"))
    };
    let of_bob = complete(bob, json!({ "a": "b" })).await;
    let bytes = async || {
        let owners = store.stats().await.expect("it works").owners;
        owners.iter().find(|(owner, _)| owner.name() == "alice").expect("she has some").1
    };
    let mut made = Vec::new();
    for _ in 0..100 {
        made.push(complete(alice, metadata('x')).await);
        // What ends is counted, and makes no room by itself.
        assert!(bytes().await < BYTES + (16 << 10));
    }
    let mut kept = Vec::new();
    for path in &made {
        if alice.get(path).await.status == 200 {
            kept.push(path.clone());
        }
    }
    assert!((8..40).contains(&kept.len()) && made.ends_with(&kept), "{}", kept.len());

    // The oldest of them is changed again and again, and stays; what it pushes out is others'.
    for round in 0..100 {
        let letter = if round % 2 == 0 { 'é' } else { 'y' };
        let changed = alice.post(&kept[0], json!({ "metadata": metadata(letter) })).await;
        assert_eq!(changed.status, 200, "{}", String::from_utf8_lossy(&changed.body));
        assert_eq!(alice.get(&kept[0]).await.json()["metadata"], metadata(letter));
        assert!(bytes().await <= BYTES);
    }
    assert_eq!(alice.get(&kept[0]).await.json()["metadata"], metadata('y'));
    assert_eq!(bob.get(&of_bob).await.json()["metadata"], json!({ "a": "b" }));
    assert_eq!(store.check().await, Ok(Vec::new()));
    server.stop().await;
}
