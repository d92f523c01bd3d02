//! More connections than are allowed: requests on them are refused with `retry-after`, `/health`
//! and the operators' listener answer, and connections that were there before are served.

use http::Request;
use http_body_util::Full;
use serde_json::json;
use tests::client::{get, open, post};
use tests::server::{Setup, TestServer};
use tests::tools::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const REQUEST: &[u8] = b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Opens a connection, gets an answer on it, and keeps it open.
async fn kept(server: &TestServer) -> TcpStream {
    let mut client = TcpStream::connect(server.address).await.expect("a connection");
    assert!(answered(&mut client).await.starts_with("HTTP/1.1 200"));
    client
}

/// Sends one more request and returns its answer.
async fn answered(client: &mut TcpStream) -> String {
    client.write_all(REQUEST).await.expect("it is served");
    let mut answer = vec![0; 4096];
    let count = client.read(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer[..count]).into_owned()
}

async fn with_two_places() -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "Hello." }]));
    setup.limits.http.connections = 2;
    (TestServer::start(setup).await, folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn excess_connections_request_is_told_to_come_again() {
    let (server, _folder) = with_two_places().await;
    let (mut first, second) = (kept(&server).await, kept(&server).await);
    for path in ["/v1/responses", "/v1/messages"] {
        let body = json!({ "model": "qwen3-tiny", "input": "x".repeat(1 << 20), "max_tokens": 1 });
        let refused = post(server.address, path, &body).await;
        assert_eq!((refused.status.as_u16(), &refused.headers["retry-after"]), (503, &"1".parse().unwrap()));
        assert_eq!(refused.headers["connection"], "close");
        let message = refused.json()["error"]["message"].as_str().expect("an error object").to_owned();
        assert_eq!(message, "Too many connections are open. Please try again.");
    }
    assert_eq!(get(server.address, "/health").await.status, 200);
    assert_eq!(get(server.admin, "/health").await.status, 200);
    assert_eq!(get(server.admin, "/admin/parsers").await.status, 200);
    assert!(answered(&mut first).await.starts_with("HTTP/1.1 200"));
    drop(second);
    // Its slot is free when the server has noticed that the connection was closed.
    eventually("the place is free", async || get(server.address, "/v1/models").await.status != 503).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_answers_however_many_connections_are_silent() {
    let (server, _folder) = with_two_places().await;
    let (mut first, _second) = (kept(&server).await, kept(&server).await);
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(server.address).await.expect("a connection"));
    }
    for _ in 0..9 {
        assert_eq!(get(server.address, "/health").await.status, 200);
        assert_eq!(get(server.address, "/v1/models").await.status, 503);
    }
    // The oldest have made room for these, and no connection within the bound has.
    let mut byte = [0];
    let closed = silent[0].read(&mut byte).await;
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    assert!(answered(&mut first).await.starts_with("HTTP/1.1 200"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_operators_take_no_places() {
    let (server, _folder) = with_two_places().await;
    let request =
        || Request::get("/health").header("host", "localhost").body(Full::default()).expect("a request");
    let mut operators = Vec::new();
    for _ in 0..5 {
        operators.push(open(server.admin, request()).await);
    }
    assert_eq!(get(server.address, "/v1/models").await.status, 200);
    drop(operators);
    server.stop().await;
}
