//! What a request has read of the store is paid for before it is read: references, what it
//! continues, pages. What can't be paid for has a name and a remedy, and leaves nothing behind.

use serde_json::{Value, json};
use store::{End, Link, NewCompletion, NewResponse, Options, Owner, Sqlite, Status, Store, StoredItem};
use tests::client::{Answer, get, metric, post};
use tests::process::ServerProcess;
use tests::server::{Setup, TestServer};
use tests::socket::Socket;
use tests::tools::eventually;

use crate::support::{body, error, id, rules};

const MIB: usize = 1 << 20;

/// A server whose requests share 16 MiB, of which one may have 14.
async fn small() -> TestServer {
    let folder = tempfile::tempdir().expect("a folder");
    let mut setup = Setup::replay(folder.path(), &rules());
    setup.limits.model.accounts.memory = 16 * MIB;
    setup.limits.http.page_bytes = MIB;
    TestServer::start(setup).await
}

async fn ask(server: &TestServer, path: &str, body: &Value) -> Answer {
    post(server.address, path, body).await
}

/// Waits until no request holds memory.
async fn all_given_back(server: &TestServer) {
    eventually("the memory is given back", async || {
        metric(server.address, "sluice_request_memory_bytes").await <= 0.0
    })
    .await;
}

fn message(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// A part that the model sees as `[image]`.
fn image(bytes: usize) -> Value {
    json!({ "type": "input_image", "image_url": format!("data:image/png;base64,{}", "A".repeat(bytes)) })
}

/// The same in a message of Chat Completions.
fn picture(bytes: usize) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{}", "A".repeat(bytes)) } })
}

/// 45 KB of them took 5.8 GiB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_references_to_one_large_item_are_refused_at_every_door() {
    let server = small().await;
    let large = json!({ "items": [message(&"x".repeat(MIB))] });
    let made = ask(&server, "/v1/conversations", &large).await.json();
    let items = get(server.address, &format!("/v1/conversations/{}/items", id(&made))).await.json();
    let reference = json!({ "type": "item_reference", "id": items["data"][0]["id"] });
    let many = json!([&[message("2+2?")][..], &vec![reference.clone(); 1000]].concat());
    let refused = (400, json!("context_length_exceeded"));
    let request = json!({ "model": "qwen3-tiny", "input": many });
    for path in ["/v1/responses", "/v1/responses/input_tokens", "/v1/responses/compact"] {
        let answer = ask(&server, path, &request).await;
        assert_eq!(error(&answer), refused, "{path}");
        let message = answer.json()["error"]["message"].as_str().expect("a message").to_owned();
        assert!(message.contains("--request-memory") && message.contains("compact"), "{message}");
    }
    let some = json!({ "items": vec![reference.clone(); 19] });
    for path in ["/v1/conversations".to_owned(), format!("/v1/conversations/{}/items", id(&made))] {
        assert_eq!(error(&ask(&server, &path, &some).await), refused, "{path}");
    }
    let mut socket = Socket::open(server.address).await;
    for store in [true, false] {
        let fields = json!({ "input": many, "store": store });
        assert_eq!(socket.refusal(fields).await["error"]["code"], "context_length_exceeded");
    }
    drop(socket);
    all_given_back(&server).await;
    // As many as fit are answered.
    let small = json!({ "items": vec![message("2+2?"); 20] });
    let made = ask(&server, "/v1/conversations", &small).await.json();
    let items = get(server.address, &format!("/v1/conversations/{}/items", id(&made))).await.json();
    let items = items["data"].as_array().expect("a list").iter();
    let few: Vec<Value> = items.map(|item| json!({ "type": "item_reference", "id": item["id"] })).collect();
    assert_eq!(few.len(), 20);
    let few = json!({ "model": "qwen3-tiny", "input": few });
    assert_eq!(ask(&server, "/v1/responses/input_tokens", &few).await.status, 200);
    server.stop().await;
}

/// Two of them at a time were in memory before anybody paid.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_objects_that_cannot_be_paid_for_are_refused_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("state.db");
    let store = Sqlite::open(&file, &Options::default()).expect("a new store");
    // Twice this is more than a request may have.
    let large = vec![b' '; 8 * MIB];
    let (owner, item) = (Owner::new("local"), StoredItem { id: "msg_a".to_owned(), body: large.clone() });
    let end = || End { status: Status::Completed, result: large.clone(), output: vec![], last: None };
    let new = NewResponse {
        id: "resp_a".to_owned(),
        link: Link::Alone,
        request: vec![],
        input: vec![item.clone()],
    };
    let lease = store.create(&owner, new).await.expect("a lease");
    store.finish(lease, end()).await.expect("its end");
    let new = NewCompletion { id: "chatcmpl_a".to_owned(), tags: vec![], input: vec![] };
    let lease = store.completion_create(&owner, new).await.expect("a lease");
    store.finish(lease, end()).await.expect("its end");
    store.conversation_create(&owner, "conv_a", b"{}".to_vec(), vec![item]).await.expect("a conversation");
    drop(store);
    // A process of its own, since this one's tests share their metrics.
    let store = format!("sqlite:{}", file.display());
    let server =
        ServerProcess::start(&rules(), &["--store", &store, "--request-memory", "16", "--max-body", "4"]);
    let unpaid = || metric(server.address, r#"sluice_store_errors_total{reason="unpaid"}"#);
    let read = [
        "/v1/responses/resp_a",
        "/v1/responses/resp_a?stream=true",
        "/v1/responses/resp_a/input_items",
        "/v1/conversations/conv_a/items",
        "/v1/conversations/conv_a/items/msg_a",
        "/v1/chat/completions/chatcmpl_a",
        "/v1/chat/completions",
    ];
    let refused = (400, json!("context_length_exceeded"));
    for path in read {
        assert_eq!(error(&get(server.address, path).await), refused, "{path}");
    }
    let change = json!({ "metadata": { "a": "b" } });
    let changed = [
        "/v1/responses/resp_a/cancel",
        "/v1/responses/resp_a/end_reasoning",
        "/v1/chat/completions/chatcmpl_a",
    ];
    for path in changed {
        assert_eq!(error(&post(server.address, path, &change).await), refused, "{path}");
    }
    // By the store, which read none.
    assert!((unpaid().await - 10.0).abs() < 0.1, "{}", unpaid().await);
    assert_eq!(get(server.address, "/v1/conversations/conv_a").await.status, 200);
    eventually("the memory is given back", async || {
        metric(server.address, "sluice_request_memory_bytes").await <= 0.0
    })
    .await;
}

/// The default page of large completions was 503 for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_of_large_things_come_in_pages_and_say_that_more_follows() {
    const COMPLETIONS: &str = "/v1/chat/completions";
    let folder = tempfile::tempdir().expect("a folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "x".repeat(300 << 10) }]));
    setup.limits.model.accounts.memory = 16 * MIB;
    setup.limits.http.page_bytes = MIB;
    setup.model.context = Some(1 << 20);
    setup.model.parser = Some("none".to_owned());
    let server = TestServer::start(setup).await;
    let mut made = Vec::new();
    for _ in 0..8 {
        let seen = json!({ "role": "user", "content": [picture(600 << 10)] });
        let messages = json!([message("x"), seen.clone(), seen]);
        let body =
            json!({ "model": "qwen3-tiny", "messages": messages, "store": true, "metadata": { "a": "b" } });
        let answer = ask(&server, COMPLETIONS, &body).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        made.push(answer.json()["id"].clone());
    }
    for query in ["", "&metadata[a]=b", "&model=qwen3-tiny"] {
        let (mut seen, mut after, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = get(server.address, &format!("{COMPLETIONS}?limit=100{query}{after}")).await;
            assert_eq!(page.status, 200, "{}", String::from_utf8_lossy(&page.body));
            assert!(page.body.len() < MIB + (4 << 10), "{}", page.body.len());
            let page = page.json();
            seen.extend(page["data"].as_array().expect("a list").iter().map(|one| one["id"].clone()));
            pages += 1;
            if page["has_more"] == json!(false) {
                break;
            }
            after = format!("&after={}", page["last_id"].as_str().expect("an id"));
        }
        assert_eq!((&seen, pages), (&made, 3), "{query}");
    }
    let messages = format!("{COMPLETIONS}/{}/messages", made[0].as_str().expect("an id"));
    let page = get(server.address, &messages).await.json();
    assert_eq!((page["data"].as_array().map(Vec::len), &page["has_more"]), (Some(2), &json!(true)));
    server.stop().await;
}

/// The model sees `[image]` only, so its bytes aren't counted as those that are read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn screenshots_of_a_chain_count_once_and_texts_as_they_are_read() {
    let server = small().await;
    let respond = async |content: Value, parent: &Value| {
        let more =
            json!({ "previous_response_id": parent, "input": [{ "role": "user", "content": content }] });
        ask(&server, "/v1/responses", &body("", &more)).await
    };
    let mut last = Value::Null;
    for number in 0..8 {
        let answer = respond(json!([image(MIB), { "type": "input_text", "text": "2+2?" }]), &last).await;
        assert_eq!(answer.status, 200, "{number}: {}", String::from_utf8_lossy(&answer.body));
        last = answer.json()["id"].clone();
    }
    let count = json!({ "model": "qwen3-tiny", "previous_response_id": last, "input": "2+2?" });
    assert_eq!(ask(&server, "/v1/responses/input_tokens", &count).await.status, 200);

    // Texts are copied to be read, three times in all: no such chain can be continued, ever.
    let mut last = Value::Null;
    let mut refused = None;
    for _ in 0..8 {
        let text = json!([{ "type": "input_text", "text": "y".repeat(MIB) }]);
        let output = json!({ "type": "function_call_output", "call_id": "c", "output": text });
        let call = json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" });
        let made = json!({ "items": [call, output] });
        let conversation = ask(&server, "/v1/conversations", &made).await.json();
        if last.is_null() {
            last = conversation["id"].clone();
        } else {
            let path = format!("/v1/conversations/{}/items", last.as_str().expect("an id"));
            assert_eq!(ask(&server, &path, &made).await.status, 200);
        }
        let count = json!({ "model": "qwen3-tiny", "conversation": last, "input": "2+2?" });
        refused = Some(ask(&server, "/v1/responses/input_tokens", &count).await);
    }
    let refused = refused.expect("it was asked");
    assert_eq!(error(&refused), (400, json!("context_length_exceeded")));
    all_given_back(&server).await;
    server.stop().await;
}

/// A bound of what is stored says what it is and what helps, and never "try again".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_chain_of_screenshots_is_named_and_can_be_compacted() {
    let bounds = store::Bounds { context_bytes: 3 << 20, ..store::Bounds::default() };
    let options = store::Options { bounds, ..store::Options::default() };
    let folder = tempfile::tempdir().expect("a folder");
    let mut setup = Setup::replay(folder.path(), &rules());
    setup.store = Some(std::sync::Arc::new(store::Sqlite::memory(&options).expect("memory can be had")));
    let server = TestServer::start(setup).await;
    let mut last = Value::Null;
    let mut answers = Vec::new();
    for _ in 0..4 {
        let content = json!([image(MIB), { "type": "input_text", "text": "2+2?" }]);
        let more = json!({ "previous_response_id": last, "input": [{ "role": "user", "content": content }] });
        let answer = ask(&server, "/v1/responses", &body("", &more)).await;
        if answer.status == 200 {
            last = answer.json()["id"].clone();
        }
        answers.push(answer);
    }
    let full = answers.pop().expect("the last");
    assert_eq!(error(&full), (400, json!("context_length_exceeded")));
    assert!(!full.headers.contains_key("retry-after"));
    assert!(full.json()["error"]["message"].as_str().expect("a message").contains("/v1/responses/compact"));
    let compact = json!({ "model": "qwen3-tiny", "previous_response_id": last });
    assert_eq!(ask(&server, "/v1/responses/compact", &compact).await.status, 200);
    server.stop().await;
}
