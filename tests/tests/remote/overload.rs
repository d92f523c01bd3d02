//! Overload of a remote engine becomes an HTTP status, not an event of an answer; and one key keeps
//! no other out, neither by requests that wait for the engine nor by their priority.

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{json_request, post, send};
use tests::fake_engine::{Action, FakeEngine, refusal, whole};
use tests::server::Setup;
use tokio::task::JoinSet;

use crate::setup::{question, server_for, start, urls};

/// A request of the client with this key.
fn of(key: &'static str, body: &Value) -> Request<Full<Bytes>> {
    let mut request = json_request("/v1/responses", body.to_string());
    request.headers_mut().insert("x-api-key", HeaderValue::from_static(key));
    request
}

fn two_keys(setup: &mut Setup) {
    setup.keys = vec!["one".to_owned(), "two".to_owned()];
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overload_is_a_status_with_the_engines_own_wait() {
    for (told, status) in [(429, 429), (503, 503)] {
        let busy = move |_: usize, _: &serde_json::Value| {
            vec![Action::Send(refusal(told, "retry-after: 7\r\n", "{}"))]
        };
        let (first, second) = (FakeEngine::start(busy).await, FakeEngine::start(busy).await);
        let server = server_for(&urls(&[&first, &second])).await;
        for stream in [true, false] {
            let answer = post(server.address, "/v1/responses", &question(stream)).await;
            assert_eq!(
                (answer.status.as_u16(), &answer.headers["retry-after"]),
                (status, &"7".parse().unwrap())
            );
        }
        let requests = first.received.requests().len() + second.received.requests().len();
        assert_eq!(requests, 4, "each engine is asked once for each request");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_requests_of_one_key_leave_room_for_another() {
    const PLACES: usize = 16;
    let engine = FakeEngine::start(|number, _| {
        if number < PLACES / 2 { vec![Action::UntilDisconnect] } else { vec![Action::Send(whole("Hello."))] }
    })
    .await;
    let server = start(&engine.url(), |setup| {
        two_keys(setup);
        setup.limits.model.waiting_requests = PLACES;
    })
    .await;
    let mut waiting = JoinSet::new();
    for _ in 0..PLACES / 2 {
        waiting.spawn(send(server.address, of("one", &question(false))));
    }
    engine.received.wait_until(|log| log.requests().len() == PLACES / 2).await;
    assert_eq!(
        send(server.address, of("one", &question(false))).await.status,
        429,
        "it has half of the places"
    );
    assert_eq!(send(server.address, of("two", &question(false))).await.status, 200);
    drop(waiting);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn priority_puts_no_key_before_another_at_the_engine() {
    let engine = FakeEngine::start(|_, _| vec![Action::Send(whole("Hello."))]).await;
    let ranked = |priority: i32| {
        let mut body = question(false);
        body["priority"] = json!(priority);
        body
    };
    let server = start(&engine.url(), two_keys).await;
    let refused = send(server.address, of("one", &ranked(-1))).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]["param"]), (400, &json!("priority")));
    assert_eq!(send(server.address, of("one", &ranked(1))).await.status, 200);
    server.stop().await;
    let server = server_for(&engine.url()).await;
    assert_eq!(send(server.address, of("one", &ranked(-1))).await.status, 200, "without keys nobody loses");
    server.stop().await;
    let sent: Vec<_> = engine.received.requests().iter().map(|body| body["priority"].clone()).collect();
    assert_eq!(sent, [1, -1]);
}
