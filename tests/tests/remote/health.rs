//! Health of engines: busy ones that miss their checks, ones that go while requests wait for them,
//! and ones that fall silent.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tests::client::{get, json_request, metric, open, post};
use tests::fake_engine::{Action, FakeEngine, Health, Identity, done, event, head, ids, whole};
use tests::server::TestServer;
use tests::tools::eventually;
use tokio::sync::Semaphore;

use crate::setup::{ask, question, server_for, start, text, urls};

const ANSWER: &str = "<think>\n\n</think>\n\nHello there.";

/// Numbers of requests to the engine at `url` that were refused, failed, were cancelled, and
/// completed, and of first tokens. They count for the whole process, and an engine of another test
/// may have had this port, so tests compare two of them.
async fn counted(server: &TestServer, url: &str) -> [i64; 5] {
    let labels = |outcome| format!("model_name=\"qwen3-tiny\",upstream=\"{url}\",outcome=\"{outcome}\"");
    let requests = |outcome| format!("sluice_upstream_requests_total{{{}}}", labels(outcome));
    let [refused, failed, cancelled, completed] =
        ["refused", "failed", "cancelled", "completed"].map(requests);
    let tokens =
        format!("sluice_upstream_first_token_seconds_count{{model_name=\"qwen3-tiny\",upstream=\"{url}\"}}");
    let mut counts = [0; 5];
    for (count, series) in counts.iter_mut().zip([refused, failed, cancelled, completed, tokens]) {
        *count = metric(server.address, &series).await.to_string().parse().expect("a whole number");
    }
    counts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engine_that_streams_is_alive_despite_missed_checks() {
    let paced = Action::Paced(vec![event(&[300], None); 100_000].into(), Duration::from_millis(5));
    let engine = FakeEngine::start(move |nth, _| match nth {
        0 => vec![Action::Send(head()), paced.clone()],
        _ => vec![Action::Send(whole(ANSWER))],
    })
    .await;
    let server = start(&engine.url(), |setup| {
        // A machine under load may deliver nothing for half a second.
        setup.limits.model.remote.probe_time = Duration::from_secs(1);
    })
    .await;
    let mut client = open(server.address, json_request("/v1/responses", question(true).to_string())).await;
    client.next().await.expect("an event");
    engine.received.set_health(Health::Silent);
    let checked = async {
        engine.received.wait_until(|log| log.missed_checks() >= 2).await;
        assert_eq!(get(server.address, "/health").await.status, 200);
        assert_eq!(text(&ask(&server).await), "Hello there.");
    };
    // Unread events would fill the answer's queues, and the engine would be read no further.
    let reading = async { while client.next().await.is_some() {} };
    tokio::select! {
        () = checked => {}
        () = reading => panic!("the answer ends before the checks"),
    }
    // Once nothing is delivered any more, a missed check counts.
    drop(client);
    engine.received.wait_until(|log| log.disconnected() >= 1).await;
    eventually("the engine is missed", async || get(server.address, "/health").await.status != 200).await;
    assert_eq!(ask(&server).await.status, 503);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_request_moves_when_its_engine_is_gone() {
    for before in [Vec::new(), head()] {
        let waits =
            FakeEngine::start(move |_, _| vec![Action::Send(before.clone()), Action::UntilDisconnect]).await;
        let answers = FakeEngine::start(|_, _| vec![Action::Send(whole(ANSWER))]).await;
        let server = server_for(&urls(&[&waits, &answers])).await;
        let earlier = counted(&server, &waits.url()).await;
        let moving = async {
            // Requests go to either engine; the first one that waits is moved.
            waits.received.wait_until(|log| log.requests().len() == 1).await;
            waits.received.set_health(Health::Failing);
        };
        let asking = async {
            for number in 0.. {
                if !waits.received.requests().is_empty() {
                    return;
                }
                let body = json!({ "model": "qwen3-tiny", "input": format!("Question {number}") });
                let answer = post(server.address, "/v1/responses", &body).await;
                assert_eq!((answer.status.as_u16(), &*text(&answer)), (200, "Hello there."));
            }
        };
        tokio::join!(moving, asking);
        assert_eq!(counted(&server, &waits.url()).await[1] - earlier[1], 1);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_between_tokens_holds_from_the_first_token_on() {
    let go_on = Arc::new(Semaphore::new(0));
    let permits = Arc::clone(&go_on);
    let engine = FakeEngine::start(move |_, _| {
        let first = event(&ids(ANSWER)[..5], None);
        let wait = Action::Wait(Arc::clone(&permits));
        vec![Action::Send(head()), wait, Action::Send(first), Action::UntilDisconnect]
    })
    .await;
    let server = start(&engine.url(), |setup| {
        setup.limits.model.remote.first_token_time = Duration::from_hours(1);
        setup.limits.model.remote.token_time = Duration::from_millis(300);
    })
    .await;
    // The answer's head comes while the first token is awaited, so the timer runs by then.
    let mut client = open(server.address, json_request("/v1/responses", question(true).to_string())).await;
    go_on.add_permits(1);
    let reading = async {
        let mut events = String::new();
        while let Some(bytes) = client.next().await {
            events.push_str(std::str::from_utf8(&bytes).expect("SSE is UTF-8"));
        }
        events
    };
    let events = tokio::time::timeout(Duration::from_mins(1), reading).await.expect("the answer ends");
    assert_eq!(events.matches("event: response.failed").count(), 1, "{events}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_failing_or_ending_before_the_head_count() {
    // The answer's end follows after the requests that the engine refuses, breaks off, and is left
    // with.
    let engine = FakeEngine::start(|nth, _| match nth {
        0 => vec![Action::Send(tests::fake_engine::refusal(400, "", "{}"))],
        1 => vec![Action::Reset],
        2 => vec![Action::UntilDisconnect],
        _ => vec![Action::Send([head(), event(&ids(ANSWER), Some("stop")), done()].concat())],
    })
    .await;
    let server = start(&engine.url(), |setup| {
        // The requests have to find out, not the health checks.
        setup.limits.model.remote.health_time = Duration::from_hours(1);
    })
    .await;
    // The process counts for all its tests, and another's engine may have had this port.
    let url = engine.url();
    let earlier = counted(&server, &url).await;
    assert_eq!(post(server.address, "/v1/responses", &question(false)).await.status, 500);
    assert_eq!(ask(&server).await.status, 503);
    tokio::select! {
        _ = ask(&server) => panic!("nothing was answered"),
        () = engine.received.wait_until(|log| log.requests().len() == 3) => {}
    }
    engine.received.wait_until(|log| log.disconnected() == 1).await;
    assert_eq!(ask(&server).await.status, 200);
    let counts = counted(&server, &url).await;
    let since = counts.iter().zip(&earlier).map(|(now, then)| now - then);
    assert_eq!(since.collect::<Vec<_>>(), [1; 5]);
    engine.kill().await;
    assert_eq!(ask(&server).await.status, 503);
    assert_eq!(counted(&server, &url).await[1] - counts[1], 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_are_the_number_that_llamacpp_tells() {
    let identity = Identity { owner: "llamacpp", ..Identity::default() };
    let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), |_, _| Vec::new()).await;
    let server = server_for(&engine.url()).await;
    let figure = async |figure: &str| {
        let labels = format!("model_name=\"qwen3-tiny\",upstream=\"{}\",figure=\"{figure}\"", engine.url());
        metric(server.address, &format!("sluice_upstream{{{labels}}}")).await.to_string()
    };
    eventually("the engine is up", async || figure("up").await == "1").await;
    assert_eq!(figure("slots").await, "3");
    server.stop().await;
}
