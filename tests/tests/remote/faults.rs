//! Answers whose engine fails: before the first token another engine is tried, after it the answer
//! fails with one error, and the server keeps running in any case.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;
use tests::client::{get, post};
use tests::fake_engine::{Action, FakeEngine, Identity, done, event, head, ids, refusal, whole};
use tests::tools::eventually;

use crate::setup::{ask, kinds, question, server_for, start, text, urls};

const ANSWER: &str = "<think>\n\n</think>\n\nHello there.";

/// Starts two engines. The first request to either of them meets `fault`, and every later request
/// is answered well.
async fn faulty_once(fault: impl Fn() -> Vec<Action> + Send + Sync + 'static) -> [FakeEngine; 2] {
    let (asked, fault) = (Arc::new(AtomicUsize::new(0)), Arc::new(fault));
    let engine = || {
        let (asked, fault) = (Arc::clone(&asked), Arc::clone(&fault));
        FakeEngine::start(move |_, _| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => fault(),
            _ => vec![Action::Send(whole(ANSWER))],
        })
    };
    [engine().await, engine().await]
}

/// Checks that the other engine gives the answer, and the client notices no fault.
async fn is_answered_by_another(fault: impl Fn() -> Vec<Action> + Send + Sync + 'static) {
    let [first, second] = faulty_once(fault).await;
    let server = start(&urls(&[&first, &second]), |setup| {
        setup.limits.model.remote.first_token_time = Duration::from_secs(3);
    })
    .await;
    let answer = ask(&server).await;
    assert_eq!((answer.status.as_u16(), &*text(&answer)), (200, "Hello there."), "{:?}", answer.body);
    assert_eq!((first.received.requests().len(), second.received.requests().len()), (1, 1));
    server.stop().await;
}

/// Starts an engine that always acts so; returns status and error code of an answer that isn't
/// streamed.
async fn refused(actions: impl Fn() -> Vec<Action> + Send + Sync + 'static) -> (u16, Value) {
    let engine = FakeEngine::start(move |_, _| actions()).await;
    let server = start(&engine.url(), |setup| {
        setup.limits.model.remote.first_token_time = Duration::from_millis(500);
        setup.limits.model.remote.token_time = Duration::from_millis(500);
    })
    .await;
    let answer = ask(&server).await;
    let body = answer.json();
    assert_eq!(get(server.address, "/v1/models").await.status, 200);
    server.stop().await;
    (answer.status.as_u16(), body["error"]["code"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overloaded_or_badly_proxied_engine_is_passed_over() {
    for status in [429, 502, 503, 504] {
        is_answered_by_another(move || vec![Action::Send(refusal(status, "", "{}"))]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_broken_before_its_first_token_is_anothers() {
    is_answered_by_another(Vec::new).await;
    is_answered_by_another(|| vec![Action::Reset]).await;
    is_answered_by_another(|| vec![Action::Send(head())]).await;
    is_answered_by_another(|| vec![Action::Send([head(), done()].concat())]).await;
    is_answered_by_another(|| vec![Action::Send([head(), b"data: {\"choi".to_vec()].concat())]).await;
    is_answered_by_another(|| vec![Action::Send([head(), b"data: no json\n\n".to_vec()].concat())]).await;
    is_answered_by_another(|| vec![Action::Send([head(), event(&[1 << 30], None)].concat())]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engine_with_a_late_first_token_is_given_up() {
    is_answered_by_another(|| vec![Action::UntilDisconnect]).await;
    // Comments don't count as tokens.
    is_answered_by_another(|| {
        vec![Action::Send([head(), b": still there\n\n".to_vec()].concat()), Action::UntilDisconnect]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_nobody_listens_at_is_passed_over() {
    let [first, second] = faulty_once(Vec::new).await;
    let server = start(&urls(&[&first, &second]), |setup| {
        // The request has to find out, not the health checks.
        setup.limits.model.remote.health_time = Duration::from_hours(1);
    })
    .await;
    first.kill().await;
    let answer = ask(&server).await;
    // The remaining engine closes the connection of its first request.
    assert_eq!(answer.status, 503);
    assert_eq!(text(&ask(&server).await), "Hello there.");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unmendable_errors_are_refused_with_their_status() {
    let error = |code: u16, message: &str| {
        let body = format!("{{\"error\": {{\"code\": {code}, \"message\": \"{message}\"}}}}");
        move || vec![Action::Send(refusal(code, "", &body))]
    };
    assert_eq!(
        refused(error(400, "maximum context length is 9 tokens")).await,
        (400, "context_length_exceeded".into())
    );
    assert_eq!(refused(error(400, "no such thing")).await, (500, "server_error".into()));
    assert_eq!(refused(error(403, "--enable-scale-out")).await, (500, "server_error".into()));
    assert_eq!(refused(error(500, "died")).await, (500, "server_error".into()));
    let under_200 = |code: u16, message: &str| {
        let event = format!(
            "data: {{\"error\": {{\"code\": {code}, \"message\": \"{message}\"}}}}\n\ndata: [DONE]\n\n"
        );
        move || vec![Action::Send([head(), event.clone().into_bytes()].concat())]
    };
    assert_eq!(
        refused(under_200(400, "the maximum model length of 9, context length")).await,
        (400, "context_length_exceeded".into())
    );
    assert_eq!(refused(under_200(500, "died")).await, (500, "server_error".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_lines_and_packed_answers_are_given_up() {
    let endless = || {
        vec![
            Action::Send([head(), b"data: ".to_vec(), vec![b'x'; 4 << 20]].concat()),
            Action::UntilDisconnect,
        ]
    };
    assert_eq!(refused(endless).await, (500, "server_error".into()));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![b'\n'; 64 << 20]).expect("it is memory");
    let packed = packed.finish().expect("it is memory");
    let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n".to_vec();
    assert_eq!(
        refused(move || vec![Action::Send([head.clone(), packed.clone()].concat())]).await,
        (503, "server_unavailable".into())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_broken_behind_its_first_token_fails_once() {
    let begun = || [head(), event(&ids("<think>\n\n</think>\n\nHel")[..5], None)].concat();
    let cuts: [Vec<Action>; 3] = [
        vec![Action::Send(begun())],
        vec![Action::Send(begun()), Action::UntilDisconnect],
        vec![Action::Send(
            [begun(), b"data: {\"error\": {\"code\": 503, \"message\": \"x\"}}\n\n".to_vec()].concat(),
        )],
    ];
    for cut in cuts {
        let engine = FakeEngine::start(move |_, _| cut.clone()).await;
        let server =
            start(&engine.url(), |setup| setup.limits.model.remote.token_time = Duration::from_millis(500))
                .await;
        let answer = post(server.address, "/v1/responses", &question(true)).await;
        let kinds = kinds(&answer);
        assert_eq!(
            (answer.status.as_u16(), kinds.last().map(String::as_str)),
            (200, Some("response.failed"))
        );
        assert_eq!(kinds.iter().filter(|kind| *kind == "response.failed").count(), 1);
        assert_eq!(engine.received.requests().len(), 1);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_in_single_bytes_is_the_same() {
    let engine = FakeEngine::start(|nth, _| {
        vec![if nth == 0 { Action::Send(whole(ANSWER)) } else { Action::SendByByte(whole(ANSWER)) }]
    })
    .await;
    let server = server_for(&engine.url()).await;
    let (first, second) = (ask(&server).await, ask(&server).await);
    assert_eq!((text(&first), &first.json()["usage"]), (text(&second), &second.json()["usage"]));
    assert_eq!(first.json()["usage"]["input_tokens_details"]["cached_tokens"], 3);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_cached_tokens_than_prompt_are_not_believed() {
    let lie = String::from_utf8(whole(ANSWER)).expect("text");
    let lie = lie.replace("\"cached_tokens\":3", "\"cached_tokens\":1000000000");
    assert!(lie.contains("1000000000"));
    let engine = FakeEngine::start(move |_, _| vec![Action::Send(lie.clone().into_bytes())]).await;
    let server = server_for(&engine.url()).await;
    let usage = ask(&server).await.json()["usage"].clone();
    assert_eq!(usage["input_tokens_details"]["cached_tokens"], usage["input_tokens"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_comes_back_is_looked_at_again() {
    let first = FakeEngine::start(|_, _| vec![Action::Send(whole(ANSWER))]).await;
    let address = first.address;
    let server = server_for(&first.url()).await;
    assert_eq!(text(&ask(&server).await), "Hello there.");
    first.kill().await;
    eventually("the engine is missed", async || get(server.address, "/health").await.status != 200).await;
    let lacking = get(server.address, "/ready").await;
    assert_eq!((lacking.status.as_u16(), get(server.address, "/live").await.status.as_u16()), (503, 200));
    let error = lacking.json()["error"]["message"].to_string();
    assert!(error.contains("1 of 1 models have no engine"), "{error}");
    assert_eq!(ask(&server).await.status, 503);
    // An engine with another tokenizer isn't used.
    let other = Identity { tokenizes_alike: false, ..Identity::default() };
    let other = FakeEngine::start_as(other, address, |_, _| vec![Action::Send(whole(ANSWER))]).await;
    assert_eq!(ask(&server).await.status, 503);
    assert_eq!(other.received.requests().len(), 0);
    other.kill().await;
    let back =
        FakeEngine::start_as(Identity::default(), address, |_, _| vec![Action::Send(whole(ANSWER))]).await;
    eventually("the engine is found again", async || get(server.address, "/health").await.status == 200)
        .await;
    assert_eq!(text(&ask(&server).await), "Hello there.");
    assert_eq!(back.received.requests().len(), 1);
    server.stop().await;
}
