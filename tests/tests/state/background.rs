//! Responses that run without their client: followed from any event, cancelled, and ended where
//! their process is gone.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use api::Protocol;
use api::responses::fold::Fold;
use http::Request;
use http_body_util::Full;
use model::EngineChoice;
use serde_json::{Value, json};
use store::{Budget, Events, Owner, Store, TimeSource};
use tests::client::{Open, json_request, open, post};
use tests::fake_engine::{Action, FakeEngine};
use tests::server::{Setup, TestServer, memory};

use super::support::{body, delete, error, id, read, replaying, respond, rules, texts};

const BACKGROUND: &str = r#"{"background":true}"#;

fn background() -> Value {
    serde_json::from_str(BACKGROUND).expect("JSON")
}

/// The response as soon as it has ended.
async fn ended(server: &TestServer, id: &str) -> Value {
    let events = read(server.address, &format!("/v1/responses/{id}?stream=true")).await;
    assert_eq!(events.status, 200, "{:?}", events.body);
    read(server.address, &format!("/v1/responses/{id}")).await.json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_response_waits_runs_and_is_readable() {
    let server = replaying(&rules()).await;
    let queued = respond(server.address, "2+2?", &background()).await;
    assert_eq!((&queued["status"], &queued["background"]), (&json!("queued"), &json!(true)));
    let whole = ended(&server, id(&queued)).await;
    assert_eq!((&whole["status"], &whole["id"]), (&json!("completed"), &queued["id"]));
    assert_eq!(whole["output"][0]["content"][0]["text"], json!("Four."));
    assert_eq!(whole["created_at"], queued["created_at"]);
    // It can be continued.
    let next = respond(server.address, "two", &json!({ "previous_response_id": id(&whole) })).await;
    assert_eq!(next["status"], json!("completed"));
    server.stop().await;
}

/// A replay ended at `completed` only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vllm_0_32_events_are_followed_from_any_number() {
    let server = replaying(&rules()).await;
    let more = json!({ "background": true, "stream": true });
    let streamed = post(server.address, "/v1/responses", &body("long", &more)).await.events();
    let numbers: Vec<u64> =
        streamed.iter().map(|event| event["sequence_number"].as_u64().expect("a number")).collect();
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "{numbers:?}");
    let kinds: Vec<&str> = streamed.iter().take(3).filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["response.created", "response.queued", "response.in_progress"]);
    let last = &streamed.last().expect("events")["response"];
    let path = format!("/v1/responses/{}", id(last));
    assert_eq!(read(server.address, &path).await.json(), *last);
    let bare = |events: &[Value]| -> Vec<Value> {
        let without = |event: &Value| {
            let mut event = event.clone();
            event.as_object_mut().expect("an object").remove("obfuscation");
            event
        };
        events.iter().map(without).collect()
    };
    let end = numbers.len() as u64 - 1;
    for after in [0, 1, 5, 63, 64, end - 1, end, end + 9] {
        let query = format!("{path}?stream=true&starting_after={after}&include_obfuscation=false");
        let answer = read(server.address, &query).await;
        let from = usize::try_from(after + 1).expect("a length").min(streamed.len());
        assert_eq!(answer.events(), bare(&streamed[from..]), "after {after}");
        assert!(answer.body.ends_with(b"data: [DONE]\n\n"));
    }
    for wrong in ["starting_after=-1", "starting_after=x", "stream=yes"] {
        let refused = read(server.address, &format!("{path}?stream=true&{wrong}")).await;
        assert_eq!(error(&refused), (400, json!("invalid_value")), "{wrong}");
    }
    server.stop().await;
}

/// Its output was empty until its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_response_has_the_output_so_far() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = memory();
    let text = "<think>\nHm.\n</think>\n\nIt begins";
    let rules = json!([{ "text": text, "finish": "hang" }]);
    let start = || Setup { store: Some(store.clone()), ..Setup::replay(folder.path(), &rules) };
    // The second one knows of the response what is stored.
    let servers = [TestServer::start(start()).await, TestServer::start(start()).await];
    let more = json!({ "background": true, "stream": true, "reasoning": { "effort": "high" } });
    let request = json_request("/v1/responses", body("2+2?", &more).to_string());
    let mut stream: Open = open(servers[0].address, request).await;
    let told = until_written(&mut stream, "Hm.It begins").await;
    let mut fold = Fold::default();
    for data in told.lines().filter_map(|line| line.strip_prefix("data: ")) {
        fold.add(&serde_json::from_str(data).expect("JSON")).expect("it fits");
    }
    let path = format!("/v1/responses/{}", &told[told.find("resp_").expect("an id")..][..37]);
    for server in &servers {
        let response = read(server.address, &path).await.json();
        assert_eq!(response["status"], "in_progress");
        let [reasoning, message] = &response["output"].as_array().expect("a list")[..] else {
            panic!("{response}")
        };
        let items: Vec<_> = fold.items().iter().map(|so_far| (&so_far.item, so_far.is_done)).collect();
        assert_eq!(items, [(reasoning, true), (message, false)]);
        assert_eq!(
            (&message["status"], &message["content"][0]["text"]),
            (&json!("in_progress"), &json!("It begins"))
        );
    }
    let cancelled = post(servers[0].address, &format!("{path}/cancel"), &Value::Null).await.json();
    assert_eq!(cancelled["output"][1]["status"], "incomplete");
    for server in servers {
        assert_eq!(read(server.address, &path).await.json(), cancelled);
        server.stop().await;
    }
}

/// A cancel after the end changed it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vllm_57999_cancel_keeps_items_and_an_earlier_end() {
    let server = replaying(&rules()).await;
    let more = json!({ "background": true, "stream": true });
    let mut stream: Open =
        open(server.address, json_request("/v1/responses", body("endless", &more).to_string())).await;
    let mut text = until_written(&mut stream, "It begins").await;
    let at = text.find("resp_").expect("an id");
    let path = format!("/v1/responses/{}", &text[at..at + 37]);
    let cancelled = post(server.address, &format!("{path}/cancel"), &Value::Null).await.json();
    assert_eq!(cancelled["status"], json!("cancelled"));
    assert_eq!(cancelled["output"][0]["content"][0]["text"], json!("It begins"));
    assert_eq!(read(server.address, &path).await.json(), cancelled);
    // Again, and the follower's last event.
    assert_eq!(post(server.address, &format!("{path}/cancel"), &Value::Null).await.json(), cancelled);
    while let Some(more) = stream.next().await {
        text.push_str(std::str::from_utf8(&more).expect("UTF-8"));
    }
    let last = text.lines().rev().find_map(|line| line.strip_prefix("data: {")).expect("an event");
    let last: Value = serde_json::from_str(&format!("{{{last}")).expect("JSON");
    assert_eq!((&last["type"], &last["response"]), (&json!("response.incomplete"), &cancelled));
    let done = respond(server.address, "2+2?", &background()).await;
    let done = ended(&server, id(&done)).await;
    let late = post(server.address, &format!("/v1/responses/{}/cancel", id(&done)), &Value::Null).await;
    assert_eq!(late.json(), done);
    let foreground = respond(server.address, "one", &json!({})).await;
    let refused =
        post(server.address, &format!("/v1/responses/{}/cancel", id(&foreground)), &Value::Null).await;
    assert_eq!(error(&refused), (400, json!("invalid_value")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_response_stops_and_is_gone() {
    let server = replaying(&rules()).await;
    let queued = respond(server.address, "endless", &background()).await;
    let path = format!("/v1/responses/{}", id(&queued));
    assert_eq!(delete(server.address, &path).await.status, 200);
    assert_eq!(error(&read(server.address, &path).await), (404, json!("not_found")));
    // The server's stop waits for what runs: this ends only if nothing does.
    server.stop().await;
}

/// Its followers' streams ended without an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_of_a_deleted_response_get_its_end() {
    let server = replaying(&rules()).await;
    let queued = respond(server.address, "endless", &background()).await;
    let path = format!("/v1/responses/{}", id(&queued));
    let get = |query: &str| {
        let path = format!("{path}?stream=true{query}");
        Request::get(path).header("host", "localhost").body(Full::default()).expect("a request")
    };
    let mut from_the_beginning = open(server.address, get("")).await;
    let mut text = until_written(&mut from_the_beginning, "It begins").await;
    let mut resumed = open(server.address, get("&starting_after=3")).await;
    let mut behind = until_written(&mut resumed, "It begins").await;
    assert_eq!(delete(server.address, &path).await.status, 200);
    for (stream, text) in [(&mut from_the_beginning, &mut text), (&mut resumed, &mut behind)] {
        while let Some(bytes) = stream.next().await {
            text.push_str(std::str::from_utf8(&bytes).expect("UTF-8"));
        }
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        assert_eq!(text.matches(r#""type":"response.incomplete""#).count(), 1, "{text}");
    }
    let mut check = Protocol::Responses.check();
    assert_eq!(check.feed(text.as_bytes()).and_then(|()| check.finish()), Ok(()));
    server.stop().await;
}

/// An id was shown, and then nothing found under it; and a conversation's lock outlived its client.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hermes_agent_15026_livekit_5586_leaving_cancels() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = memory();
    let setup = Setup { store: Some(store.clone()), ..Setup::replay(folder.path(), &rules()) };
    let server = TestServer::start(setup).await;
    for stream in [true, false] {
        let conversation = post(server.address, "/v1/conversations", &json!({})).await.json();
        let more = json!({ "stream": stream, "conversation": id(&conversation) });
        let request = json_request("/v1/responses", body("endless", &more).to_string());
        let address = server.address;
        if stream {
            let mut answer = open(address, request).await;
            let text = until_written(&mut answer, "It begins").await;
            drop(answer);
            let at = text.find("resp_").expect("an id");
            let path = format!("/v1/responses/{}", &text[at..at + 37]);
            let response = until(
                || async { read(address, &path).await.json() },
                |response| response["status"] != "in_progress",
            )
            .await;
            assert_eq!(response["status"], json!("cancelled"));
            assert_eq!(response["output"][0]["content"][0]["text"], json!("It begins"));
        } else {
            let asking = tests::client::send(address, request);
            // The response runs until its client leaves: nothing else ends it.
            assert!(tokio::time::timeout(Duration::from_millis(300), asking).await.is_err());
        }
        let more = json!({ "conversation": id(&conversation) });
        let next = until(
            || async { post(address, "/v1/responses", &body("x", &more)).await },
            |answer| answer.status == 200,
        )
        .await;
        assert_eq!(next.json()["status"], json!("completed"));
    }
    server.stop().await;
}

/// Reads a stream until its deltas have this text. Returns what was read.
async fn until_written(stream: &mut Open, whole: &str) -> String {
    let mut read = String::new();
    let written = |read: &str| -> String {
        let data = read.lines().filter_map(|line| line.strip_prefix("data: "));
        let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        events.filter_map(|event| event["delta"].as_str().map(str::to_owned)).collect()
    };
    while written(&read) != whole {
        let more = stream.next().await.expect("more events");
        read.push_str(std::str::from_utf8(&more).expect("UTF-8"));
    }
    read
}

/// Asks again until the answer `fits`.
async fn until<T, F: Future<Output = T>>(ask: impl Fn() -> F, fits: impl Fn(&T) -> bool) -> T {
    let asking = async {
        loop {
            let answer = ask().await;
            if fits(&answer) {
                return answer;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), asking).await.expect("it comes to that")
}

/// A response whose process is gone is ended by the next one, with all that was sent of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_whose_process_is_gone_ends_as_failed() {
    // Behind the text, within it, and before it has begun.
    for (sent, text, status) in [
        ("response.completed", Some("Four."), Some("completed")),
        ("response.output_text.done", Some("Four."), Some("incomplete")),
        ("response.output_text.delta", Some(""), Some("incomplete")),
        ("response.output_item.added", None, None),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("state.db");
        let done = lose(&file, sent).await;
        let setup = Setup { store: Some(opened(&file)), ..Setup::replay(folder.path(), &rules()) };
        let server = TestServer::start(setup).await;
        let response = ended(&server, "resp_lost").await;
        assert_eq!(
            (&response["status"], &response["error"]["code"]),
            (&json!("failed"), &json!("server_error"))
        );
        let item = &response["output"][0];
        assert_eq!((item["content"][0]["text"].as_str(), item["status"].as_str()), (text, status), "{sent}");
        let events = read(server.address, "/v1/responses/resp_lost?stream=true").await.events();
        let mut fold = Fold::default();
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], number);
            assert_eq!(fold.add(event), Ok(()), "{event}");
        }
        assert_eq!(fold.whole(), response);
        assert_eq!(events.last().expect("events")["response"], response);
        let done = read(server.address, &format!("/v1/responses/{done}")).await.json();
        assert_eq!(done["status"], json!("completed"));
        server.stop().await;
    }
}

fn opened(file: &Path) -> Arc<dyn Store> {
    Arc::new(store::Sqlite::open(file, &store::Options::default()).expect("it opens"))
}

/// Leaves `resp_lost` in a store as a process leaves it that ends between two chunks, before the
/// first event of the type `before` is stored. Returns the id of a response like it that has ended.
async fn lose(file: &Path, before: &str) -> String {
    let store = opened(file);
    let folder = tempfile::tempdir().expect("a folder");
    let setup = Setup { store: Some(store.clone()), ..Setup::replay(folder.path(), &rules()) };
    let server = TestServer::start(setup).await;
    let done = respond(server.address, "2+2?", &background()).await;
    ended(&server, id(&done)).await;
    let owner = Owner::new("local");
    let Ok(Events::Log { chunk, .. }) = store.events_after(&owner, id(&done), None).await else {
        panic!("a log")
    };
    let stored = store.response(&owner, id(&done), Budget::default()).await.expect("a response");
    let new = store::NewResponse {
        id: "resp_lost".to_owned(),
        link: store::Link::Alone,
        request: stored.request,
        input: vec![],
    };
    server.stop().await;
    let needs = store::Needs { model: "qwen3-tiny".to_owned(), version: 1 };
    store.enqueue(&owner, &needs, new, chunk.events[..2].to_vec()).await.expect("room");
    let claimed = store.claim(&served()).await.expect("it works").expect("one waits");
    let is_kind = |event: &Vec<u8>| {
        serde_json::from_slice::<Value>(event).expect("JSON")["type"].as_str() == Some(before)
    };
    let cut = chunk.events.iter().position(is_kind).expect("such an event");
    let events = chunk.events[2..cut].to_vec();
    store.append(&claimed.lease, store::Chunk { first: 2, events }).await.expect("room");
    id(&done).to_owned()
}

/// What the tests' servers serve.
fn served() -> store::Served {
    store::Served { models: vec!["qwen3-tiny".to_owned()], version: 1 }
}

/// What a server had claimed and not begun when it stops, another one runs at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_server_gives_back_what_it_has_not_begun() {
    let folder = tempfile::tempdir().expect("a folder");
    // Its leases never end.
    let clock = TimeSource::manual(1_800_000_000_000);
    let options = store::Options { clock, ..store::Options::default() };
    let store: Arc<dyn Store> = Arc::new(store::Sqlite::memory(&options).expect("memory can be had"));
    // An engine that never begins.
    let engine = FakeEngine::start(|_, _| vec![Action::UntilDisconnect]).await;
    let mut setup = Setup { store: Some(store.clone()), ..Setup::default() };
    setup.model.engine = engine.url().parse::<EngineChoice>().expect("a URL");
    let server = TestServer::start(setup).await;
    let mut queued = Vec::new();
    for _ in 0..3 {
        queued.push(respond(server.address, "2+2?", &background()).await);
    }
    engine.received.wait_until(|log| log.requests().len() == queued.len()).await;
    assert!(store.claim(&served()).await.expect("it works").is_none(), "all are claimed");
    server.stop().await;
    let setup = Setup { store: Some(store), ..Setup::replay(folder.path(), &rules()) };
    let server = TestServer::start(setup).await;
    for response in queued {
        let whole = tokio::time::timeout(Duration::from_mins(1), ended(&server, id(&response))).await;
        let whole = whole.expect("it ends");
        assert_eq!((&whole["status"], &whole["id"]), (&json!("completed"), &response["id"]));
        assert_eq!(texts(&json!({ "data": whole["output"] })), ["Four."]);
    }
    server.stop().await;
}
