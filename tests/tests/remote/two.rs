//! Two remote engines, one of which dies while a hundred streams run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tests::client::{json_request, open};
use tests::fake_engine::{Action, FakeEngine, done, event, head, ids, whole};
use tokio::sync::Semaphore;

use crate::setup::{ask, start, urls};

const STREAMS: usize = 100;

/// Reads a stream to its end and returns its terminal events; counts it in `begun` at its first
/// text.
async fn ends(address: SocketAddr, index: usize, begun: &AtomicUsize) -> Vec<&'static str> {
    let body = json!({ "model": "qwen3-tiny", "input": format!("Question {index}"), "stream": true });
    let mut stream = open(address, json_request("/v1/responses", body.to_string())).await;
    let (mut text, mut has_begun) = (String::new(), false);
    while let Some(bytes) = stream.next().await {
        text.push_str(std::str::from_utf8(&bytes).expect("SSE is UTF-8"));
        if !has_begun && text.contains("response.output_text.delta") {
            has_begun = true;
            begun.fetch_add(1, Ordering::SeqCst);
        }
    }
    let types = text.lines().filter_map(|line| line.strip_prefix("event: "));
    let ends = types.filter_map(|kind| match kind {
        "response.completed" => Some("completed"),
        "response.failed" => Some("failed"),
        _ => None,
    });
    ends.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dying_engine_takes_only_its_own_streams_with_it() {
    let go_on = Arc::new(Semaphore::new(0));
    let all = ids("<think>\n\n</think>\n\nHello there, how are you?");
    let engine = |permits: Arc<Semaphore>| {
        let all = all.clone();
        FakeEngine::start(move |nth, _| {
            if nth >= STREAMS {
                return vec![Action::Send(whole("<think>\n\n</think>\n\nHello again."))];
            }
            let (first, rest) = all.split_at(all.len() - 3);
            let last = [event(rest, Some("stop")), done()].concat();
            let first = [head(), event(first, None)].concat();
            vec![Action::Send(first), Action::Wait(Arc::clone(&permits)), Action::Send(last)]
        })
    };
    let (dying, living) = (engine(Arc::new(Semaphore::new(0))).await, engine(Arc::clone(&go_on)).await);
    let server = start(&urls(&[&dying, &living]), |setup| {
        setup.limits.model.remote.token_time = Duration::from_mins(1);
    })
    .await;
    let begun = AtomicUsize::new(0);
    let streams = join_all((0..STREAMS).map(|index| ends(server.address, index, &begun)));
    let under_way = async {
        while begun.load(Ordering::SeqCst) < STREAMS {
            tokio::task::yield_now().await;
        }
        let (lost, kept) = (dying.received.requests().len(), living.received.requests().len());
        assert!(lost > 10 && kept > 10 && lost + kept == STREAMS, "{lost} and {kept}");
        dying.kill().await;
        go_on.add_permits(STREAMS);
        (lost, kept)
    };
    let (ends, (lost, kept)) = tokio::join!(streams, under_way);
    let count = |end: &'static str| ends.iter().filter(|ends| ***ends == [end]).count();
    assert_eq!((count("failed"), count("completed")), (lost, kept), "each has one end");
    assert_eq!(ask(&server).await.status, 200);
    server.stop().await;
}
