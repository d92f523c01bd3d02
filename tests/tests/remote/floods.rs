//! Engines that send more than an answer may have: behind its end, beyond its token limit, or
//! without any token. Nothing of that counts into the answer, and the engine's connection is closed
//! after a few bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use remote::EngineKind;
use serde_json::{Value, json};
use tests::client::{Answer, get, post};
use tests::fake_engine::{
    Action, FakeEngine, Identity, done, event_of, head, ids, whole as whole_answer, without_tokens,
};
use tests::server::{Setup, TestServer};

use crate::setup::{ask, start, text};

const ANSWER: &str = "<think>\n\n</think>\n\nHello there.";
/// Engines of each kind, with the owner of their models.
const KINDS: [(EngineKind, &str); 4] = [
    (EngineKind::OpenAi, "vllm"),
    (EngineKind::Vllm, "vllm"),
    (EngineKind::Sglang, "sglang"),
    (EngineKind::LlamaCpp, "llamacpp"),
];
/// Bytes that a flood would have without end; and the most that may be sent, since the buffers of
/// both sockets hold megabytes.
const FLOOD: usize = 256 << 20;
const MOST: usize = 32 << 20;

/// A server, and an engine that sends `before` and then `flood` until it is cut off.
struct Flooded {
    server: TestServer,
    engine: FakeEngine,
    sent: Arc<AtomicUsize>,
}

impl Flooded {
    async fn start((kind, owner): (EngineKind, &'static str), before: Vec<u8>, flood: Vec<u8>) -> Self {
        let sent = Arc::new(AtomicUsize::new(0));
        let identity = Identity { owner, ..Identity::default() };
        let script = {
            let sent = Arc::clone(&sent);
            move |_: usize, _: &Value| {
                let flood = Action::Flood { bytes: flood.clone(), most: FLOOD, sent: Arc::clone(&sent) };
                vec![Action::Send([head(), before.clone()].concat()), flood]
            }
        };
        let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), script).await;
        let server = start(&engine.url(), |setup| setup.model.engine_kind = Some(kind)).await;
        Self { server, engine, sent }
    }

    async fn ask(&self, more: Value) -> Answer {
        let mut body = json!({ "model": "qwen3-tiny", "input": "Who are you?" });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        post(self.server.address, "/v1/responses", &body).await
    }

    /// Checks that the engine was cut off early, and that the server serves.
    async fn ends(self, what: &str) {
        self.engine.received.wait_until(|log| log.disconnected() >= 1).await;
        let sent = self.sent.load(Ordering::SeqCst);
        assert!(sent < MOST, "{what}: {sent} bytes were sent");
        assert_eq!(get(self.server.address, "/health").await.status, 200, "{what}");
        self.server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_read_behind_the_end() {
    let all = ids(ANSWER);
    for (kind, owner) in KINDS {
        let tokens = event_of(owner, &[300; 100], all.len(), None).repeat(16);
        let floods = without_tokens(owner).into_iter().chain([("tokens", tokens)]);
        for (what, flood) in floods {
            let end = event_of(owner, &all, 0, Some("stop"));
            let flooded = Flooded::start((kind, owner), end, flood).await;
            let answer = flooded.ask(json!({})).await;
            let what = format!("{kind:?}: {what}");
            assert_eq!((answer.status.as_u16(), &*text(&answer)), (200, "Hello there."), "{what}");
            let answer = answer.json();
            assert_eq!(answer["usage"]["output_tokens"], all.len(), "{what}");
            assert_eq!(answer["status"], "completed", "{what}");
            flooded.ends(&what).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_limit_holds_whatever_the_engine_sends() {
    for (kind, owner) in KINDS {
        // SGLang's and llama.cpp's counts say how many of the ids are new, so each event counts on.
        let tokens: Vec<u8> = (0..1 << 12).flat_map(|at| event_of(owner, &[300], at, None)).collect();
        for limit in [json!({ "max_output_tokens": 40 }), json!({})] {
            let flooded = Flooded::start((kind, owner), Vec::new(), tokens.clone()).await;
            let answer = flooded.ask(limit.clone()).await.json();
            let what = format!("{kind:?}: {limit}: {answer}");
            let usage = &answer["usage"];
            // Without a limit, the context of 4,096 tokens is.
            let room = 4096 - usage["input_tokens"].as_u64().expect("a number");
            let most = limit["max_output_tokens"].as_u64().unwrap_or(room);
            assert_eq!(
                (&answer["status"], &usage["output_tokens"]),
                (&json!("incomplete"), &json!(most)),
                "{what}"
            );
            flooded.ends(&what).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_brings_no_token_is_cut_off() {
    let all = ids(ANSWER);
    for (kind, owner) in KINDS {
        for (what, flood) in without_tokens(owner) {
            for begun in [false, true] {
                let first = if begun { event_of(owner, &all[..5], 0, None) } else { Vec::new() };
                let flooded = Flooded::start((kind, owner), first, flood.clone()).await;
                let answer = flooded.ask(json!({})).await;
                let what = format!("{kind:?}, begun: {begun}: {what}: {:?}", answer.body);
                assert_eq!(answer.status, 500, "{what}");
                flooded.ends(&what).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_token_resets_no_timer() {
    let all = ids(ANSWER);
    for (kind, owner) in KINDS {
        for (what, bytes) in without_tokens(owner).into_iter().take(2) {
            let bytes = bytes[..bytes.len() >> 10].to_vec();
            // The drip lasts ten times longer than the time between two tokens may be, and the
            // answer's end follows.
            let drip = Action::Paced(vec![bytes; 100].into(), Duration::from_millis(50));
            let begun = [head(), event_of(owner, &all[..5], 0, None)].concat();
            let end = [event_of(owner, &all[5..], 5, Some("stop")), done()].concat();
            let identity = Identity { owner, ..Identity::default() };
            let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), move |_, _| {
                vec![Action::Send(begun.clone()), drip.clone(), Action::Send(end.clone())]
            })
            .await;
            let server = start(&engine.url(), |setup| {
                setup.model.engine_kind = Some(kind);
                setup.limits.model.remote.token_time = Duration::from_millis(500);
            })
            .await;
            let answer = post(server.address, "/v1/responses", &crate::setup::question(false)).await;
            assert_eq!(answer.status, 500, "{kind:?}: {what}: {:?}", answer.body);
            engine.received.wait_until(|log| log.disconnected() == 1).await;
            server.stop().await;
        }
    }
}

/// Head of a response whose body ends with the connection.
const OPEN: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";

/// Neither the version nor the gauges are needed, so an engine that lies about them is used, and
/// what it lies costs little.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_own_facts_are_read_up_to_a_bound() {
    let endless = |part: &str| {
        let sent = Arc::new(AtomicUsize::new(0));
        let bytes = part.repeat((64 << 10) / part.len()).into_bytes();
        (Action::Flood { bytes, most: FLOOD, sent: Arc::clone(&sent) }, sent)
    };
    let whole = |text: String| (Action::Send(text.into_bytes()), Arc::default());
    for path in ["/version", "/metrics"] {
        for (what, (lie, sent)) in [
            ("an endless list", endless("[")),
            ("endless text", endless("vllm:num_requests_running 1\n")),
            ("a page", whole("<html>\n".to_owned())),
            ("a long version", whole(json!({ "version": "9".repeat(1 << 20) }).to_string())),
            ("absurd numbers", whole("vllm:num_requests_running 1e308\nvllm:num_requests_waiting -1e308\nvllm:kv_cache_usage_perc 1e308\n".to_owned())),
        ] {
            let lies = vec![(path, vec![Action::Send(OPEN.to_vec()), lie])];
            let identity = Identity { lies, ..Identity::default() };
            let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), |_, _| {
                vec![Action::Send(whole_answer(ANSWER))]
            })
            .await;
            // One scrape, and none for an hour.
            let once = |setup: &mut Setup| setup.limits.model.remote.health_time = Duration::from_hours(1);
            let server = start(&engine.url(), once).await;
            engine.received.wait_until(|log| log.lies() == 1).await;
            let sent = sent.load(Ordering::SeqCst);
            assert!(sent < MOST, "{path}: {what}: {sent} bytes were sent");
            assert_eq!(text(&ask(&server).await), "Hello there.", "{path}: {what}");
            server.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_text_without_ids_is_cut_at_the_token_limit() {
    let identity = Identity { owner: "vllm", ..Identity::default() };
    let text = "word ".repeat(190_000);
    let event = format!("data: {}\n\n", json!({ "choices": [{ "text": text, "finish_reason": null }] }));
    let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), move |_, _| {
        vec![Action::Send([head(), event.clone().into_bytes()].concat()), Action::UntilDisconnect]
    })
    .await;
    let server = start(&engine.url(), |setup| setup.model.engine_kind = Some(EngineKind::OpenAi)).await;
    for (limit, most) in [(json!(40), Some(40)), (Value::Null, None)] {
        let body = json!({ "model": "qwen3-tiny", "input": "Who are you?", "max_output_tokens": limit });
        let answer = post(server.address, "/v1/responses", &body).await.json();
        let usage = &answer["usage"];
        let room = 4096 - usage["input_tokens"].as_u64().expect("a number");
        assert_eq!(
            (&answer["status"], &usage["output_tokens"]),
            (&json!("incomplete"), &json!(most.unwrap_or(room)))
        );
    }
    server.stop().await;
}
