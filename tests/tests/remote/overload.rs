//! Overload of a remote engine becomes an HTTP status, not an event of an answer.

use tests::client::post;
use tests::fake_engine::{Action, FakeEngine, refusal};

use crate::setup::{question, server_for, urls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overload_is_a_status_with_the_engines_own_time_to_wait() {
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
