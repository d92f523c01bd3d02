//! Clients that shut down their sending side and wait for the answer (`shutdown(SHUT_WR)`): they
//! get the answer, streamed or not.

use serde_json::{Value, json};
use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn rules() -> Value {
    json!([{ "text": "word ".repeat(20), "tokens_per_step": 1, "pace_ms": 10 }])
}

/// Sends `text`, shuts down the sending side, and returns all that the client reads.
async fn half_closed(server: &TestServer, text: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    stream.write_all(text.as_bytes()).await.expect("written");
    stream.shutdown().await.expect("half-closed");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

fn request(version: &str, stream: bool) -> String {
    let body = json!({ "model": "qwen3-tiny", "input": "Hello", "stream": stream }).to_string();
    let length = body.len();
    format!(
        "POST /v1/responses HTTP/{version}\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_half_closes_gets_the_whole_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &rules());
    setup.limits.http.keep_alive = std::time::Duration::from_millis(20);
    let server = TestServer::start(setup).await;
    for (version, stream, end) in [
        ("1.1", false, "\"status\":\"completed\""),
        ("1.1", true, "data: [DONE]"),
        ("1.0", false, "\"status\":\"completed\""),
        ("1.0", true, "data: [DONE]"),
    ] {
        let answer = half_closed(&server, &request(version, stream)).await;
        let interim = "HTTP/1.1 102 Processing\r\n\r\n";
        let rest = answer.trim_start_matches(interim);
        assert!(rest.starts_with(&format!("HTTP/{version} 200 OK\r\n")), "{answer}");
        assert!(rest.contains(end) && !rest.contains(interim), "{answer}");
        assert!(version != "1.0" || !answer.starts_with(interim), "{answer}");
    }
    let two = request("1.1", false).repeat(2);
    assert_eq!(half_closed(&server, &two).await.matches("HTTP/1.1 200 OK").count(), 2);
    server.stop().await;
}
