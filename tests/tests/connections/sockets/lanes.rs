//! Lanes: first in, first out in one, side by side in several, up to the numbers that clients know.

use std::collections::HashMap;

use serde_json::{Value, json};
use tests::socket::{Socket, is_last, text};

use super::engine::{Gated, Scripted};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_one_lane_run_one_after_the_other() {
    let gated = Gated::start().await;
    gated.gate.add_permits(6);
    for lane in [Value::Null, json!("a")] {
        let mut socket = Socket::open(gated.server.address).await;
        for number in 0..3 {
            socket
                .create(json!({ "input": "Hi", "stream_id": lane, "metadata": { "n": number.to_string() } }))
                .await;
        }
        for number in 0..3 {
            let events = socket.response().await;
            let of_response = events.iter().filter_map(|event| event.get("response"));
            let numbers: Vec<&Value> = of_response.map(|response| &response["metadata"]["n"]).collect();
            assert!(numbers.iter().all(|n| **n == json!(number.to_string())), "{numbers:?}");
            assert_eq!(events[0]["type"], "response.created", "nothing comes of it before");
        }
    }
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_run_at_a_time_and_the_next_follows_an_end() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    for number in 0..20 {
        socket.create(json!({ "input": "Hi", "stream_id": format!("lane{number}") })).await;
    }
    gated.asked(16).await;
    let (mut begun, mut ended) = (0, 0);
    while ended < 20 {
        let event = socket.event().await;
        if event["type"] == "response.created" {
            begun += 1;
            assert!(begun - ended <= 16, "{begun} have begun and {ended} ended");
            if begun == 16 {
                gated.gate.add_permits(20);
            }
        }
        ended += usize::from(is_last(&event));
    }
    assert_eq!(begun, 20);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agentic_api_239_lanes_are_not_mixed() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let rounds = 8;
    for _ in 0..rounds {
        for word in ["alpha", "beta"] {
            socket.create(json!({ "input": word, "stream_id": word })).await;
        }
    }
    let mut deltas: HashMap<String, String> = HashMap::new();
    let mut ids: HashMap<String, String> = HashMap::new();
    let mut left = 2 * rounds;
    while left > 0 {
        let event = socket.event().await;
        let lane = event["stream_id"].as_str().expect("a lane").to_owned();
        if event["type"] == "response.created" {
            let id = event["response"]["id"].as_str().expect("an id").to_owned();
            assert_eq!(ids.insert(lane.clone(), id), None, "one at a time in a lane");
        }
        if let Some(delta) = event["delta"].as_str() {
            deltas.entry(lane.clone()).or_default().push_str(delta);
        }
        if is_last(&event) {
            let word = format!("{lane} {lane} {lane}");
            assert_eq!(event["response"]["id"], json!(ids.remove(&lane)));
            assert_eq!(text(&event["response"]), word);
            assert_eq!(deltas.remove(&lane), Some(word));
            left -= 1;
        }
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn socket_has_thirty_two_lanes_beside_the_unnamed_one() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for number in 0..32 {
        socket.answer(json!({ "input": "Hi", "stream_id": format!("lane{number}") })).await;
    }
    socket.answer(json!({ "input": "Hi" })).await;
    let refused = socket.refusal(json!({ "input": "Hi", "stream_id": "lane32" })).await;
    assert_eq!((&refused["status"], &refused["stream_id"]), (&json!(400), &json!("lane32")));
    assert_eq!(refused["error"]["code"], "websocket_stream_limit_reached");
    assert_eq!(refused["error"]["param"], "stream_id");
    socket.answer(json!({ "input": "Hi", "stream_id": "lane31" })).await;
    let mut another = Socket::open(server.address).await;
    another.answer(json!({ "input": "Hi", "stream_id": "lane32" })).await;
    drop((socket, another));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_is_free_after_a_response_that_failed() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for _ in 0..3 {
        let refused = socket.refusal(json!({ "input": [], "stream_id": "a" })).await;
        assert_eq!(refused["status"], 400);
        assert_eq!(text(&socket.answer(json!({ "input": "Hi", "stream_id": "a" })).await), "Hello!");
    }
    drop(socket);
    server.stop().await;
}
