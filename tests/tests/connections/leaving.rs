//! Clients that disconnect and servers that stop, in every state of an answer.

use std::time::{Duration, Instant};

use api::Protocol;
use serde_json::{Value, json};
use tests::client::{json_request, metric, open, post};
use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Replay rules, one for each state of an answer in which its client disconnects.
fn rules() -> Value {
    json!([
        { "when": { "contains": "silent" }, "text": "", "finish": "hang" },
        { "when": { "contains": "slow" }, "text": "word ".repeat(700), "tokens_per_step": 1, "pace_ms": 20 },
        { "when": { "contains": "write a summary" }, "text": "", "finish": "hang" },
        { "when": { "contains": "fast" }, "text": "word ".repeat(700), "tokens_per_step": 1 },
        { "text": "Hello." }
    ])
}

fn ask(text: &str, stream: bool) -> Value {
    json!({ "model": "leaving", "input": text, "stream": stream })
}

/// Number of running answers, as the server counts them.
async fn under_way(server: &TestServer) -> f64 {
    metric(server.address, r#"sluice_streams{model_name="leaving"}"#).await
}

async fn settles(server: &TestServer, what: &str) {
    let began = Instant::now();
    while under_way(server).await > 0.0 {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: the answer goes on without its client");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leavers_are_cancelled_and_stayers_are_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &rules());
    // The gauge counts the answers of a model in the whole process.
    setup.model.served_names = vec!["leaving".to_owned()];
    setup.limits.http.grace = Duration::from_millis(500);
    setup.limits.http.slow_reader = Duration::from_secs(1);
    setup.limits.model.stream_queue = 4;
    setup.limits.http.keep_alive = Duration::from_millis(100);
    setup.limits.http.heartbeat = Duration::from_millis(250);
    let server = TestServer::start(setup).await;
    leaving_while_silent_or_streaming(&server).await;
    leaving_before_the_answer(&server).await;
    leaving_after_half_closing(&server).await;
    keep_alives_and_heartbeats(&server).await;
    not_reading(&server).await;
    stopping(server).await;
}

async fn leaving_while_silent_or_streaming(server: &TestServer) {
    for text in ["silent", "slow", "fast"] {
        let mut answer =
            open(server.address, json_request("/v1/responses", ask(text, true).to_string())).await;
        answer.next().await.expect("the opening events");
        assert!(under_way(server).await > 0.0);
        drop(answer);
        settles(server, text).await;
    }
}

async fn leaving_before_the_answer(server: &TestServer) {
    let compacting = json!({ "model": "leaving", "input": "write on" });
    for (text, path, body) in [
        ("silent", "/v1/responses", ask("silent", false)),
        ("slow", "/v1/responses", ask("slow", false)),
        ("a summary", "/v1/responses/compact", compacting),
    ] {
        let request = json_request(path, body.to_string());
        let waiting = tokio::time::timeout(Duration::from_millis(300), open(server.address, request)).await;
        assert!(waiting.is_err(), "{text}: no answer yet");
        settles(server, text).await;
    }
}

/// A client that only shut down its sending side counts as connected until it closes the
/// connection.
async fn leaving_after_half_closing(server: &TestServer) {
    for stream in [false, true] {
        let body = ask("silent", stream).to_string();
        let length = body.len();
        let request = format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let mut client = TcpStream::connect(server.address).await.expect("a connection");
        client.write_all(request.as_bytes()).await.expect("written");
        client.shutdown().await.expect("half-closed");
        let mut read = vec![0; 4096];
        // If the answer isn't streamed, these are interim answers, which come as long as the client
        // stays.
        for _ in 0..3 {
            assert!(client.read(&mut read).await.expect("it is not cut off") > 0);
        }
        assert!(under_way(server).await > 0.0);
        drop(client);
        settles(server, "half-closed").await;
    }
}

async fn keep_alives_and_heartbeats(server: &TestServer) {
    let mut answer =
        open(server.address, json_request("/v1/responses", ask("silent", true).to_string())).await;
    let mut text = String::new();
    while text.matches(": keep-alive").count() < 3 || text.matches("event: response.in_progress").count() < 3
    {
        text += std::str::from_utf8(&answer.next().await.expect("more")).expect("UTF-8");
    }
    drop(answer);
    settles(server, "keep-alives").await;
}

/// A client that reads nothing fills its own queues and loses its connection; other clients aren't
/// affected.
async fn not_reading(server: &TestServer) {
    let answer = open(server.address, json_request("/v1/responses", ask("fast", true).to_string())).await;
    let other = post(server.address, "/v1/responses", &ask("hi", false)).await;
    assert_eq!(other.status, 200);
    let began = Instant::now();
    while metric(server.address, r#"sluice_slow_readers_total{model_name="leaving"}"#).await < 1.0 {
        assert!(began.elapsed() < Duration::from_secs(20), "the stalled reader still holds its stream");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    settles(server, "a stalled reader").await;
    drop(answer);
}

/// Streams that don't end within the grace period get their closing events.
async fn stopping(server: TestServer) {
    let mut answer = open(server.address, json_request("/v1/responses", ask("slow", true).to_string())).await;
    let mut body = answer.next().await.expect("the opening events").to_vec();
    let stopping = server.stop();
    let reading = async {
        while let Some(bytes) = answer.next().await {
            body.extend_from_slice(&bytes);
        }
    };
    tokio::join!(stopping, reading);
    let mut check = Protocol::Responses.check();
    check.feed(&body).and_then(|()| check.finish()).expect("a well-formed stream");
    let text = String::from_utf8(body).expect("UTF-8");
    assert!(text.contains("event: response.failed") && text.contains("shutting down"), "{text}");
}
