//! Bad input over real sockets: each gets its own clear error, and the server keeps running.

use std::time::Duration;

use serde_json::{Value, json};
use tests::client::{Answer, get, json_request, post, send};
use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn hello() -> Value {
    json!({ "model": "qwen3-tiny", "input": "Hello", "max_output_tokens": 2 })
}

async fn lives(server: &TestServer) {
    let answer = post(server.address, "/v1/responses", &hello()).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
}

/// Checks that an answer has this status and an error object with OpenAI's fields; returns the
/// error object.
fn error(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{:?}", answer.body);
    assert!(answer.headers.contains_key("x-request-id"));
    let error = answer.json()["error"].clone();
    for field in ["message", "type", "param", "code"] {
        assert!(error.get(field).is_some(), "{error} lacks {field}");
    }
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_not_what_they_should_be() {
    let server = TestServer::start(Setup::default()).await;
    let address = server.address;
    for (body, part) in [
        ("{", "JSON"),
        ("[]", "object"),
        (r#"{"model": "qwen3-tiny"}"#, "input"),
        (r#"{"model": 7, "input": "x"}"#, "model"),
        (r#"{"model": "qwen3-tiny", "input": [7]}"#, "input[0]"),
        (r#"{"model": "qwen3-tiny", "input": "x", "temperature": "hot"}"#, "temperature"),
    ] {
        let error = error(&send(address, json_request("/v1/responses", body)).await, 400);
        assert!(error["message"].as_str().expect("text").contains(part), "{body}: {error}");
    }
    let deep = format!("{{\"input\": {}1{}}}", "[".repeat(5000), "]".repeat(5000));
    error(&send(address, json_request("/v1/responses", deep)).await, 400);
    let unknown =
        error(&post(address, "/v1/responses", &json!({ "model": "other", "input": "x" })).await, 404);
    assert_eq!(unknown["code"], "model_not_found");
    lives(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_over_the_context_has_its_own_error_code() {
    let server = TestServer::start(Setup::default()).await;
    for words in [3000, 200_000] {
        let body = json!({ "model": "qwen3-tiny", "input": "Hello there! ".repeat(words) });
        let error = error(&post(server.address, "/v1/responses", &body).await, 400);
        assert_eq!(error["code"], "context_length_exceeded");
    }
    lives(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn huge_bodies_wrong_types_wrong_routes() {
    let server = TestServer::start(Setup::default()).await;
    let address = server.address;
    let huge = format!("{{\"input\": \"{}\"}}", "x".repeat(33 << 20));
    error(&send(address, json_request("/v1/responses", huge)).await, 413);
    let mut plain = json_request("/v1/responses", "{}");
    plain.headers_mut().insert("content-type", http::HeaderValue::from_static("text/plain"));
    error(&send(address, plain).await, 415);
    error(&get(address, "/v1/nothing").await, 404);
    let path = error(&get(address, "/v1/models/%ff").await, 400);
    assert_eq!(path["code"], "invalid_path");
    error(&get(address, "/v1/responses").await, 405);
    assert_eq!(get(address, "/health").await.status, 200);
    lives(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_key_nothing_but_health_answers() {
    let setup = Setup { keys: vec!["secret".to_owned()], ..Setup::default() };
    let server = TestServer::start(setup).await;
    let address = server.address;
    for path in ["/v1/models", "/metrics", "/v1/nothing"] {
        error(&get(address, path).await, 401);
    }
    error(&post(address, "/v1/responses", &hello()).await, 401);
    assert_eq!(get(address, "/health").await.status, 200);
    let mut request = json_request("/v1/responses", hello().to_string());
    request.headers_mut().insert("authorization", http::HeaderValue::from_static("Bearer secret"));
    assert_eq!(send(address, request).await.status, 200);
    server.stop().await;
}

async fn raw(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    stream.write_all(bytes).await.expect("written");
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(Duration::from_secs(20), read).await.expect("the server closes");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_http_is_refused() {
    let server = TestServer::start(Setup::default()).await;
    let two = b"GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n";
    assert!(raw(&server, two).await.starts_with("HTTP/1.1 400"));
    let lengths = b"GET /health HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n";
    assert!(raw(&server, lengths).await.starts_with("HTTP/1.1 400"));
    let hostless = b"GET /health HTTP/1.1\r\nconnection: close\r\n\r\n";
    assert!(raw(&server, hostless).await.starts_with("HTTP/1.1 400"));
    let giant = format!("GET /health HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(200 << 10));
    assert!(raw(&server, giant.as_bytes()).await.starts_with("HTTP/1.1 431"));
    lives(&server).await;
    server.stop().await;
}

/// Checks the answer to a head that the server can't read; returns the error object.
fn bare_error(answer: &str, status: u16) -> Value {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(
        head.contains("\r\nx-request-id: req_") && head.contains("\r\ncontent-type: application/json"),
        "{head}"
    );
    let body: Value = serde_json::from_str(body).expect("JSON");
    for field in ["message", "type", "param", "code"] {
        assert!(body["error"].get(field).is_some(), "{body} lacks {field}");
    }
    body["error"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_heads_get_the_whole_error_object() {
    let mut setup = Setup::default();
    // Headers may be larger than the maximum length of a request target.
    setup.limits.http.header_bytes = 128 << 10;
    let server = TestServer::start(setup).await;
    let many = format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(100));
    let large = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "y".repeat(200 << 10));
    let long = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "y".repeat(66_000));
    let first = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for (head, status, code) in [
        ("nonsense\r\n\r\n", 400, "malformed_request"),
        ("GET /health HTTP/1.1\r\nno colon\r\n\r\n", 400, "malformed_request"),
        ("GET /health HTTP/3.0\r\n\r\n", 400, "malformed_request"),
        (&many, 431, "header_too_large"),
        (&large, 431, "header_too_large"),
        (&long, 414, "uri_too_long"),
    ] {
        assert_eq!(bare_error(&raw(&server, head.as_bytes()).await, status)["code"], code);
        let second = raw(&server, [first, head].concat().as_bytes()).await;
        let second = second.split_once("{\"status\":\"ok\"}").expect("the first is answered").1.to_owned();
        assert_eq!(bare_error(&second, status)["code"], code);
    }
    lives(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_one_byte_at_a_time_is_served() {
    let server = TestServer::start(Setup::default()).await;
    let body = hello().to_string();
    let request = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    for byte in request.as_bytes() {
        stream.write_all(std::slice::from_ref(byte)).await.expect("written");
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("read");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    server.stop().await;
}
