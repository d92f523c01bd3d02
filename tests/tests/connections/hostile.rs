//! Hostile HTTP as a table: requests as bytes, and the statuses that they get. Each refusal has the
//! error object and a request id; a body whose end is in doubt ends the connection, and nothing of
//! it is taken for a request. The server serves on.

use serde_json::{Value, json};
use tests::client::get;
use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HOST: &str = "host: localhost\r\n";
/// A second request, which must not be answered where the first one's end is in doubt.
const SECOND: &str = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
/// A body for `/v1/completions`.
const BODY: &str = r#"{"model":"qwen3-tiny","prompt":"x","max_tokens":1}"#;

/// A `POST` with these headers and body.
fn post(headers: &str, body: &str) -> String {
    format!("POST /v1/completions HTTP/1.1\r\n{HOST}content-type: application/json\r\n{headers}\r\n{body}")
}

/// A `GET` with these header lines, after which the connection closes.
fn get_with(headers: &str) -> String {
    format!("GET /health HTTP/1.1\r\n{HOST}connection: close\r\n{headers}\r\n")
}

/// A body in one chunk with this extension, and these trailers.
fn chunked(extension: &str, trailers: &str) -> String {
    format!("{:x}{extension}\r\n{BODY}\r\n0\r\n{trailers}\r\n", BODY.len())
}

/// A case: what it is, the bytes, and the statuses of all answers.
type Case = (&'static str, String, &'static [u16]);

#[rustfmt::skip] // A row per case.
fn framing() -> Vec<Case> {
    let te = "transfer-encoding: chunked\r\n";
    vec![
        ("chunked", post(te, &chunked("", "")) + SECOND, &[200, 200]),
        ("an unknown coding", post("transfer-encoding: gzip, chunked\r\n", &chunked("", "")) + SECOND, &[501]),
        ("an unknown coding in a line of its own", post(&format!("transfer-encoding: gzip\r\n{te}"), &chunked("", "")) + SECOND, &[501]),
        ("an old coding", post("transfer-encoding: identity, chunked\r\n", &chunked("", "")) + SECOND, &[501]),
        ("a coding that only looks like chunked", post("transfer-encoding: xchunked\r\n", &chunked("", "")) + SECOND, &[400]),
        ("chunked twice", post("transfer-encoding: chunked, chunked\r\n", &chunked("", "")) + SECOND, &[400]),
        ("chunked not last", post("transfer-encoding: chunked, gzip\r\n", &chunked("", "")) + SECOND, &[400]),
        ("an empty coding", post("transfer-encoding: \r\n", &chunked("", "")) + SECOND, &[400]),
        // The chunks count, and the connection is closed (RFC 9112, 6.3).
        ("chunked behind a length", post(&format!("content-length: 3\r\n{te}"), &chunked("", "")) + SECOND, &[200]),
        ("a length behind chunked", post(&format!("{te}content-length: 3\r\n"), &chunked("", "")) + SECOND, &[200]),
        ("chunked in HTTP/1.0", post(te, &chunked("", "")).replace("HTTP/1.1", "HTTP/1.0") + SECOND, &[400]),
        ("two lengths", post("content-length: 50\r\ncontent-length: 3\r\n", BODY) + SECOND, &[400]),
        ("a list of lengths", post("content-length: 50, 50\r\n", BODY) + SECOND, &[400]),
        ("a negative length", post("content-length: -1\r\n", BODY) + SECOND, &[400]),
        ("a length with a sign", post("content-length: +50\r\n", BODY) + SECOND, &[400]),
        ("a length in hexadecimal", post("content-length: 0x32\r\n", BODY) + SECOND, &[400]),
        ("a length beyond 64 bits", post("content-length: 99999999999999999999\r\n", BODY) + SECOND, &[400]),
        ("a chunk's size beyond 64 bits", post(te, "fffffffffffffffff\r\nx\r\n0\r\n\r\n") + SECOND, &[400]),
        ("a chunk's size that is no number", post(te, "-1\r\nx\r\n0\r\n\r\n") + SECOND, &[400]),
        ("a chunk longer than its size", post(te, "1\r\nxyz\r\n0\r\n\r\n") + SECOND, &[400]),
        ("a flood of a chunk's extension", post(te, &chunked(&format!(";{}", "x".repeat(100_000)), "")) + SECOND, &[400]),
        ("a flood of trailers", post(te, &chunked("", &"x: y\r\n".repeat(10_000))) + SECOND, &[400]),
        ("trailers that look like headers", post(te, &chunked("", "content-length: 9\r\nhost: evil\r\n")) + SECOND, &[200, 200]),
        ("a packed body in an encoding that isn't known", post(&format!("content-encoding: br\r\n{te}"), &chunked("", "")), &[415]),
        ("a packed body that isn't packed", post(&format!("content-encoding: gzip\r\nconnection: close\r\n{te}"), &chunked("", "")), &[400]),
    ]
}

#[rustfmt::skip] // A row per case.
fn heads() -> Vec<Case> {
    vec![
        ("a space before the colon", get_with("x : y\r\n"), &[400]),
        ("a header without a colon", get_with("x\r\n"), &[400]),
        ("a header without a name", get_with(": y\r\n"), &[400]),
        ("a folded header", get_with("x: y\r\n z\r\n"), &[400]),
        ("a zero byte in a value", get_with("x: \0\r\n"), &[400]),
        ("a carriage return in a value", get_with("x: a\rb\r\n"), &[400]),
        ("a name beyond ASCII", get_with("\u{e9}: y\r\n"), &[400]),
        ("a name of 70 kB", get_with(&format!("{}: y\r\n", "x".repeat(70_000))), &[431]),
        ("65 headers", get_with(&"x: y\r\n".repeat(65)), &[431]),
        ("no host", "GET /health HTTP/1.1\r\n\r\n".to_owned() + SECOND, &[400]),
        ("two hosts", get_with("host: localhost\r\n"), &[400]),
        ("a host with a path", "GET /health HTTP/1.1\r\nhost: localhost/v1?\r\n\r\n".to_owned() + SECOND, &[400]),
        ("an empty host", "GET /health HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n".to_owned(), &[403]),
        ("a query of 60 kB", format!("GET /health?{} HTTP/1.1\r\n{HOST}connection: close\r\n\r\n", "q".repeat(60_000)), &[200]),
        ("a target of 66 kB", format!("GET /health?{} HTTP/1.1\r\n{HOST}connection: close\r\n\r\n", "q".repeat(66_000)), &[431]),
        ("an expectation that isn't known", get_with("expect: 200-maybe\r\n"), &[200]),
        ("an upgrade", get_with("upgrade: h2c\r\nhttp2-settings: AAA\r\n"), &[200]),
        ("HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), &[]),
        ("HTTP/0.9", "GET /health\r\n\r\n".to_owned(), &[400]),
        ("HTTP/1.2", format!("GET /health HTTP/1.2\r\n{HOST}\r\n"), &[400]),
        ("TLS", "\x16\x03\x01\0\u{1}\0".to_owned(), &[400]),
        ("a method that isn't known", format!("BREW /health HTTP/1.1\r\n{HOST}connection: close\r\n\r\n"), &[405]),
        ("a target of another form", format!("OPTIONS * HTTP/1.1\r\n{HOST}connection: close\r\n\r\n"), &[404]),
        ("a tunnel", format!("CONNECT localhost:1 HTTP/1.1\r\n{HOST}connection: close\r\n\r\n"), &[404]),
        ("a whole URL of another host", format!("GET http://evil.example/health HTTP/1.1\r\n{HOST}connection: close\r\n\r\n"), &[403]),
        ("twenty requests at once", format!("GET /health HTTP/1.1\r\n{HOST}\r\n").repeat(20) + SECOND, &[200; 21]),
        ("a bad request behind a good one", format!("GET /health HTTP/1.1\r\n{HOST}\r\nx y z\r\n\r\n") + SECOND, &[200, 400]),
    ]
}

/// Sends the bytes and reads until the server closes.
async fn answers(server: &TestServer, bytes: &[u8]) -> String {
    let mut client = TcpStream::connect(server.address).await.expect("a connection");
    let (mut reader, mut writer) = client.split();
    let mut answer = Vec::new();
    // The server may close before it has read everything.
    let (_, read) = tokio::join!(writer.write_all(bytes), reader.read_to_end(&mut answer));
    read.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&answer)));
    String::from_utf8_lossy(&answer).into_owned()
}

/// Statuses of the answers. Checks that each refusal has the error object, and each answer an id.
fn statuses(name: &str, answers: &str) -> Vec<u16> {
    let answers = answers.split("HTTP/1.1 ").skip(1).filter(|answer| !answer.starts_with("100 "));
    let status = |answer: &str| {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{name}: {answer}"));
        assert!(head.contains("\r\nx-request-id: "), "{name}: {head}");
        let status: u16 = answer[..3].parse().expect("a status");
        if status >= 400 {
            let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{name}: {answer}"));
            assert!(body["error"]["message"].is_string(), "{name}: {body}");
        }
        status
    };
    answers.map(status).collect()
}

async fn server() -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "Hello." }]));
    // Where the server waits for a request, it closes soon.
    setup.limits.http.header_time = std::time::Duration::from_secs(2);
    setup.limits.http.idle_time = std::time::Duration::from_secs(2);
    (TestServer::start(setup).await, folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_request_gets_its_status_and_no_more_than_that() {
    let (server, _folder) = server().await;
    let mut wrong = Vec::new();
    for (name, bytes, expected) in framing().into_iter().chain(heads()) {
        let found = statuses(name, &answers(&server, bytes.as_bytes()).await);
        if found != expected {
            wrong.push(format!("{name}: {found:?}, not {expected:?}"));
        }
        assert_eq!(get(server.address, "/health").await.status, 200, "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_answer_every_method_with_what_is_allowed() {
    let (server, _folder) = server().await;
    let (read, write, both): (&[&str], &[&str], &[&str]) = (&["GET"], &["POST"], &["GET", "POST"]);
    let routes = [
        ("/health", read),
        ("/v1/models", read),
        ("/v1/models/qwen3-tiny", read),
        ("/metrics", read),
        ("/openapi.json", read),
        ("/v1/responses", write),
        ("/v1/chat/completions", both),
        ("/v1/completions", write),
        ("/v1/messages", write),
        ("/v1/messages/count_tokens", write),
        ("/tokenize", write),
        ("/detokenize", write),
    ];
    for (path, allowed) in routes {
        let refused = ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "GET", "POST"];
        for method in refused.into_iter().filter(|method| !allowed.contains(method)) {
            let request = format!("{method} {path} HTTP/1.1\r\n{HOST}connection: close\r\n\r\n");
            let answer = answers(&server, request.as_bytes()).await;
            let (head, body) =
                answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {answer}"));
            if method == "HEAD" {
                let status = if allowed.contains(&"GET") { 200 } else { 405 };
                assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {head}");
                assert_eq!(body, "", "an answer to HEAD has no body");
            } else {
                assert_eq!(statuses(path, &answer), [405], "{method} {path}");
                let allow = head.lines().find_map(|line| line.strip_prefix("allow: "));
                assert!(
                    allow.is_some_and(|allow| allowed
                        .iter()
                        .all(|one| allow.split(',').any(|named| named == *one))),
                    "{method} {path}: {head}"
                );
            }
        }
    }
    server.stop().await;
}
