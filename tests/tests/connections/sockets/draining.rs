//! Sockets of a server that stops: idle ones end at once, others with their responses, and none
//! keeps it from ending.

use std::time::Duration;

use serde_json::json;
use tests::client::get;
use tests::socket::Socket;
use tests::tools::eventually;

use super::engine::Gated;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_sockets_end_at_once_and_busy_ones_afterwards() {
    let mut gated = Gated::start().await;
    let mut idle = Socket::open(gated.server.address).await;
    let mut busy = Socket::open(gated.server.address).await;
    busy.create(json!({ "input": "Hi", "stream_id": "a" })).await;
    busy.create(json!({ "input": "Hi", "stream_id": "a" })).await;
    gated.asked(1).await;
    gated.server.begin_stop();
    assert_eq!(idle.rest().await, (Vec::new(), Some(1001)));
    eventually("it drains", async || get(gated.server.address, "/health").await.status != 200).await;
    // The server knows by now that it stops.
    let refusal = Socket::with_headers(gated.server.address, &[]).await.err();
    assert_eq!(refusal.map(|refusal| refusal.status().as_u16()), Some(503));
    busy.create(json!({ "input": "Hi", "stream_id": "b" })).await;
    let mut refused = Vec::new();
    while refused.len() < 2 {
        let event = busy.event().await;
        if event["type"] == "error" {
            assert_eq!(
                (&event["status"], &event["error"]["code"]),
                (&json!(503), &json!("server_unavailable"))
            );
            refused.push(event["stream_id"].clone());
        }
    }
    assert_eq!(refused, ["a", "b"], "what waited, and what came late");
    gated.gate.add_permits(1);
    let (events, code) = busy.rest().await;
    assert_eq!(events.last().expect("an end")["type"], "response.completed");
    assert_eq!(code, Some(1001));
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn response_past_the_grace_fails_and_its_socket_ends() {
    let mut gated = Gated::with(|setup| setup.limits.http.grace = Duration::from_millis(50)).await;
    let mut socket = Socket::open(gated.server.address).await;
    socket.create(json!({ "input": "Hi" })).await;
    gated.asked(1).await;
    gated.server.begin_stop();
    let (events, code) = socket.rest().await;
    assert!(events.iter().all(|event| event["type"] != "error"), "the failure comes alone");
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
    }
    let last = events.last().expect("an end");
    assert_eq!(
        (&last["type"], &last["response"]["error"]["code"]),
        (&json!("response.failed"), &json!("server_error"))
    );
    assert_eq!(code, Some(1001));
    gated.server.stop().await;
}
