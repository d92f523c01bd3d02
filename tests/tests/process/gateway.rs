//! A server before a gateway that is many engines: what it is told of owners and sessions, what
//! clients hear of its drops, and that neither a drop nor one engine's health takes it out of use.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{Answer, get, json_request, post, send};
use tests::fake_engine::{FakeEngine, FakeGateway, Passed, refusal, whole};
use tests::process::ServerProcess;
use tests::socket::Socket;

const ANSWER: &str = "<think>\n\n</think>\n\nHello there.";
/// Path of the requests for answers.
const COMPLETIONS: &str = "/v1/completions";
const MODELS: &str = "/v1/models";

async fn engine() -> FakeEngine {
    FakeEngine::start(|_, _| vec![tests::fake_engine::Action::Send(whole(ANSWER))]).await
}

fn question() -> Value {
    json!({ "model": "bench", "input": "Who are you?" })
}

/// A request of the key with these headers beside its body.
fn of(key: &str, headers: &[(&'static str, &str)], body: &Value) -> Request<Full<Bytes>> {
    let mut request = json_request("/v1/responses", body.to_string());
    let all = [("x-api-key", key)].into_iter().chain(headers.iter().copied());
    for (name, value) in all {
        let value = HeaderValue::from_str(value).expect("plain");
        request.headers_mut().insert(HeaderName::from_static(name), value);
    }
    request
}

/// A dropped request's answer, as llm-d's router writes it.
fn dropped(status: u16, headers: &str) -> Vec<u8> {
    refusal(
        status,
        headers,
        r#"{"error":{"message":"secret words of the gateway","type":"rate_limit_error"}}"#,
    )
}

fn message(answer: &Answer) -> String {
    answer.json()["error"]["message"].as_str().expect("a message").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateway_is_found_and_told_of_owners_and_sessions_by_hashes() {
    let (one, other) = (engine().await, engine().await);
    let gateway = FakeGateway::start(&[&one, &other], true, |_, _| None).await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keys = folder.path().join("keys");
    let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&keys);
    options
        .expect("a new file")
        .write_all(b"alice=key-of-alice\nbob=key-of-bob\n")
        .expect("it can be written");
    let keys = keys.to_str().expect("UTF-8");
    let server = ServerProcess::start_with_engine(&gateway.url(), &["--api-keys-file", keys]);
    let mut request = json_request("/v1/conversations", "{}".to_owned());
    request.headers_mut().insert("x-api-key", HeaderValue::from_static("key-of-alice"));
    let conversation = send(server.address, request).await.json()["id"].as_str().expect("an id").to_owned();

    let with = |field: &str, value: &str| {
        let mut body = question();
        body[field] = json!(value);
        body
    };
    let (alice, bob, plain) = ("key-of-alice", "key-of-bob", question());
    let requests = [
        // Two turns of a session, of one and the same engine; the second session gets the other one.
        of(alice, &[("x-claude-code-session-id", "first-session")], &plain),
        of(alice, &[("x-claude-code-session-id", "second-session")], &plain),
        of(alice, &[("x-claude-code-session-id", "first-session")], &plain),
        // The same session under the headers of other agents, and of another owner.
        of(alice, &[("x-session-affinity", "first-session")], &plain),
        of(alice, &[("session-id", "first-session")], &plain),
        of(alice, &[("session_id", "first-session")], &plain),
        of(bob, &[("x-claude-code-session-id", "first-session")], &plain),
        // Other names of a chain, and none.
        of(alice, &[], &with("prompt_cache_key", "first-key")),
        of(alice, &[("session-id", "first-session")], &with("conversation", &conversation)),
        of(alice, &[], &plain),
    ];
    for request in requests {
        assert_eq!(send(server.address, request).await.status, 200);
    }
    // A socket's session is that of its upgrade.
    let headers = [("x-api-key", alice), ("session-id", "first-session")];
    let (mut socket, _) = Socket::with_headers(server.address, &headers).await.expect("an upgrade");
    socket.answer(plain).await;

    let passed = gateway.passed(COMPLETIONS);
    let of_session = |name: &str| passed.iter().map(|passed| passed.header(name)).collect::<Vec<_>>();
    let sessions = of_session("x-session-affinity");
    for name in ["x-dynamo-session-id", "x-aibrix-session-key"] {
        assert_eq!(of_session(name), sessions, "{name}");
    }
    assert_eq!(of_session("x-session-id"), [None; 11], "a pod's address to AIBrix");
    let distinct = [sessions[0], sessions[1], sessions[6], sessions[7], sessions[8], sessions[9]];
    for (index, session) in distinct.iter().enumerate() {
        assert!(!distinct[..index].contains(session), "{distinct:?}");
    }
    assert_eq!([&sessions[2..6], &sessions[10..]].concat(), [sessions[0]; 5]);
    assert_eq!(sessions[9], None, "nobody named a chain");
    let engines: Vec<_> = passed[..6].iter().map(|passed| passed.engine.expect("none is dropped")).collect();
    assert_eq!(engines, [0, 1, 0, 0, 0, 0]);

    let owners = of_session("x-llm-d-inference-fairness-id");
    assert_eq!([&owners[..6], &owners[7..]].concat(), [owners[0]; 10]);
    assert!(owners[0].is_some() && owners[6].is_some() && owners[0] != owners[6], "{owners:?}");

    let bodies = [one.received.requests(), other.received.requests()].concat();
    let mut told: Vec<_> = bodies.iter().map(|body| body["session_id"].as_str()).collect();
    let mut expected = sessions.clone();
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected, "vLLM behind it gets the same");
    let heads = passed.iter().map(|Passed { head, .. }| head.clone());
    for text in heads.chain(bodies.iter().map(Value::to_string)) {
        for name in ["alice", "bob", "first-", "second-", &*conversation.to_lowercase()] {
            assert!(!text.contains(name), "{name} in {text}");
        }
    }
    let log = server.stop();
    assert!(log.contains("found a gateway before vLLM"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drops_reach_clients_with_their_reason_and_take_nothing_out_of_use() {
    const DROPS: usize = 20;
    const BARE: usize = DROPS + 1;
    let (one, other) = (engine().await, engine().await);
    let gateway = FakeGateway::start(&[&one, &other], false, |path, before| {
        let reason = |reason: &str| format!("x-llm-d-request-dropped-reason: {reason}\r\n");
        match (path, before) {
            (COMPLETIONS, ..DROPS) if before % 2 == 0 => {
                Some(dropped(429, &format!("retry-after: 7\r\n{}", reason("rejected-saturated"))))
            }
            // It has no engine whenever its health is asked for, but for the first time, when it is probed.
            (MODELS, 1..) | (COMPLETIONS, ..DROPS) => Some(dropped(503, &reason("rejected-no-endpoints"))),
            (COMPLETIONS, DROPS) => Some(dropped(503, &reason("words-of-nobody"))),
            (COMPLETIONS, BARE) => Some(dropped(429, "")),
            _ => None,
        }
    })
    .await;
    let switches = ["--engine-kind", "gateway", "--engine-health-seconds", "1"];
    let server = ServerProcess::start_with_engine(&gateway.url(), &switches);
    let ask = async || post(server.address, "/v1/responses", &question()).await;
    for number in 0..DROPS {
        let answer = ask().await;
        let expected = if number % 2 == 0 {
            (429, "7", "rejected-saturated")
        } else {
            (503, "1", "rejected-no-endpoints")
        };
        let (status, wait, reason) = expected;
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["retry-after"]),
            (status, &wait.parse().unwrap())
        );
        assert_eq!(
            message(&answer),
            format!(
                "The gateway before the engines dropped the request ({reason}). Please try again in {wait}s."
            )
        );
    }
    let unknown = ask().await;
    assert_eq!(unknown.status, 503);
    assert!(message(&unknown).contains("(for a reason that isn't known here)"), "{}", message(&unknown));
    let bare = ask().await;
    assert_eq!(
        (bare.status.as_u16(), &*message(&bare)),
        (429, "Too many requests are waiting. Please try again in 1s.")
    );

    // The next request is answered at once: no drop has opened a breaker. So does it after checks that
    // found no engine behind the gateway.
    assert_eq!(ask().await.status, 200);
    let checks = gateway.passed(MODELS).len();
    gateway.wait_for(MODELS, checks + 2).await;
    assert_eq!(ask().await.status, 200);
    assert_eq!(get(server.address, "/health").await.status, 200);
    let metrics = get(server.address, "/metrics").await;
    let metrics = String::from_utf8(metrics.body.to_vec()).expect("text");
    let figures: Vec<_> = metrics.lines().filter(|line| line.starts_with("sluice_upstream{")).collect();
    let figure =
        |name: &str| figures.iter().filter(|line| line.contains(&format!("figure=\"{name}\""))).count();
    assert_eq!((figure("up"), figure("slots")), (1, 0), "{figures:?}");
    let log = server.stop();
    assert_eq!(log.matches("rejected-saturated").count(), DROPS / 2, "{log}");
    for words in ["secret words", "words-of-nobody"] {
        assert!(!log.contains(words), "{log}");
    }
}
