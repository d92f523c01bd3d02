//! Bodies over the limit, over real sockets. A client that asks first (`expect: 100-continue`) is
//! refused before it sends the body. The rest of other bodies is read, up to twice the limit and
//! for a bounded time, and then the connection ends. Each test sets which bound ends it, so none
//! depends on how fast it runs.

use std::time::Duration;

use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HELLO: &str = r#"{"model": "qwen3-tiny", "input": "Hello", "max_output_tokens": 2}"#;
const LIMIT: usize = 64 << 10;
/// A limit, and a body of less than twice as much: far more than the kernel's buffers hold, so all
/// of it is sent only if the server reads on.
const LARGE: usize = 16 << 20;
const MUCH: usize = 30 << 20;
/// Longer than any test waits.
const NEVER: Duration = Duration::from_hours(1);

/// Starts a server that accepts bodies of `limit` bytes, and reads the rest of refused ones for
/// `rest_time`.
async fn server(limit: usize, rest_time: Duration) -> TestServer {
    let mut setup = Setup::default();
    setup.limits.http.body_bytes = limit;
    setup.limits.http.rest_time = rest_time;
    TestServer::start(setup).await
}

/// Opens a connection and sends a request head with these lines.
async fn begin(server: &TestServer, lines: &str) -> TcpStream {
    let head = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{lines}\r\n"
    );
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    stream.write_all(head.as_bytes()).await.expect("written");
    stream
}

/// Reads what the server sends until it ends the connection.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await;
    read.expect("the server ends the connection").expect("and not before its answer was read");
    String::from_utf8(answer).expect("UTF-8")
}

/// Reads an interim answer, which must be `100 Continue`.
async fn expect_continue(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let byte = tokio::time::timeout(Duration::from_secs(30), stream.read_u8()).await;
        head.push(byte.expect("it asks").expect("the connection is open"));
    }
    assert_eq!(head, b"HTTP/1.1 100 Continue\r\n\r\n");
}

fn refused(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("request_too_large"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_first_is_refused_without_sending_the_body() {
    let server = server(LIMIT, NEVER).await;
    let lines = format!("content-length: {}\r\nexpect: 100-Continue\r\n", LIMIT + 1);
    refused(&until_closed(&mut begin(&server, &lines).await).await);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_asking_first_may_go_on_where_the_body_fits() {
    let server = server(LIMIT, NEVER).await;
    let lines = format!("content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n", HELLO.len());
    let mut stream = begin(&server, &lines).await;
    expect_continue(&mut stream).await;
    stream.write_all(HELLO.as_bytes()).await.expect("written");
    let answer = until_closed(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    server.stop().await;
}

/// A body of unknown length: the server asks for it and finds that it is too large, so it has to
/// let the client send the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_told_to_go_on_is_heard_out() {
    let server = server(LARGE, NEVER).await;
    let mut stream = begin(&server, "transfer-encoding: chunked\r\nexpect: 100-continue\r\n").await;
    expect_continue(&mut stream).await;
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    for _ in 0..MUCH >> 20 {
        stream.write_all(chunk.as_bytes()).await.expect("it is taken");
    }
    stream.write_all(b"0\r\n\r\n").await.expect("written");
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(answer, b"HTTP/1.1 413");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_sending_at_once_is_heard_out() {
    let server = server(LARGE, NEVER).await;
    for expect in ["", "expect: something-else\r\n"] {
        let mut stream = begin(&server, &format!("content-length: {MUCH}\r\n{expect}")).await;
        stream.write_all(&vec![b'x'; MUCH]).await.expect("all of it is taken");
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(answer, b"HTTP/1.1 413");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_sending_endlessly_is_cut_at_twice_the_limit() {
    let server = server(LIMIT, NEVER).await;
    let mut stream = begin(&server, "content-length: 1000000000000\r\n").await;
    let (piece, mut sent) = (vec![b'x'; LIMIT], 0);
    while stream.write_all(&piece).await.is_ok() {
        sent += piece.len();
        assert!(sent < 1 << 30, "the server takes all that it is sent");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_slow_with_the_rest_is_not_waited_for() {
    let server = server(LIMIT, Duration::from_millis(1)).await;
    let mut stream = begin(&server, &format!("content-length: {}\r\n", LIMIT + 1)).await;
    refused(&until_closed(&mut stream).await);
    server.stop().await;
}
