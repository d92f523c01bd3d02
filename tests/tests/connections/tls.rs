//! Clients over TLS: what is sent over plain HTTP is sent over TLS alike, and a certificate may
//! change meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use http_body_util::Full;
use serde_json::{Value, json};
use server::accept::{Identity, Tls};
use tests::client::{json_request, metric, open_on};
use tests::server::{Setup, TestServer};
use tests::tls::{connect, fixture};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

fn identity(which: &str) -> Identity {
    let file = |name: &str| fixture(&format!("{which}{name}"));
    Identity::read(&file("certificate.pem"), &file("key.pem")).expect("they belong together")
}

/// A server with TLS, and a handle to it.
async fn start(change: impl FnOnce(&mut Setup)) -> (TestServer, Tls, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = json!([
        { "when": { "contains": "for ever" }, "text": "word", "finish": "hang" },
        { "text": "Hello." }
    ]);
    let tls = Tls::new(identity(""));
    let mut setup = Setup::replay(folder.path(), &rules);
    setup.tls = Some(tls.clone());
    change(&mut setup);
    (TestServer::start(setup).await, tls, folder)
}

fn ask(text: &str) -> http::Request<Full<bytes::Bytes>> {
    let body = json!({ "model": "qwen3-tiny", "input": text, "stream": true });
    json_request("/v1/responses", body.to_string())
}

/// The whole body of an answer that is asked for on a new connection.
async fn answered(address: SocketAddr, ca: &str) -> String {
    let mut answer =
        open_on(connect(address, ca).await.expect("a handshake"), ask("Hi")).await.expect("an answer");
    let mut body = Vec::new();
    while let Some(part) = answer.next().await {
        body.extend_from_slice(&part);
    }
    String::from_utf8(body).expect("UTF-8")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_streamed_and_sockets_opened() {
    let (server, _, _folder) = start(|_| {}).await;
    let stream = connect(server.address, "ca.pem").await.expect("a handshake");
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let body = answered(server.address, "ca.pem").await;
    assert!(body.contains("response.output_text.delta") && body.contains("response.completed"), "{body}");

    let url = format!("wss://localhost:{}/v1/responses", server.address.port());
    let (mut socket, _) = client_async(url, stream).await.expect("an upgrade");
    let event = json!({ "type": "response.create", "model": "qwen3-tiny", "input": "Hi" });
    socket.send(Message::text(event.to_string())).await.expect("it is open");
    loop {
        let message = socket.next().await.expect("it is open").expect("a message");
        let Ok(text) = message.to_text() else { continue };
        let event: Value = serde_json::from_str(text).expect("an event");
        if event["type"] == "response.completed" {
            break;
        }
        assert_ne!(event["type"], "error", "{event}");
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_replaced_for_those_that_come() {
    let (server, tls, _folder) = start(|_| {}).await;
    let old = connect(server.address, "ca.pem").await.expect("a handshake");
    tls.replace(identity("other-"));
    assert!(connect(server.address, "ca.pem").await.is_err());
    assert!(answered(server.address, "other-ca.pem").await.contains("response.completed"));
    let answer = open_on(old, ask("Hi")).await.expect("an answer");
    assert_eq!(answer.status, 200);
    drop(answer);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_speak_no_tls_or_no_http_leave_the_others_alone() {
    let (server, _, _folder) =
        start(|setup| setup.limits.http.header_time = Duration::from_millis(300)).await;
    // One that says nothing, and one that speaks HTTP without TLS: it gets an alert.
    let mut silent = TcpStream::connect(server.address).await.expect("a connection");
    let mut plain = TcpStream::connect(server.address).await.expect("a connection");
    plain.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it is taken");
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said).await;
    assert_eq!(said.first(), Some(&21), "{said:?}");
    said.clear();
    let _ = silent.read_to_end(&mut said).await;
    assert!(said.is_empty(), "{said:?}");

    let mut garbled = connect(server.address, "ca.pem").await.expect("a handshake");
    garbled.write_all(b"GET / HTTP/9\r\n\r\n").await.expect("it is taken");
    let _ = garbled.read_to_end(&mut said).await;
    let said = String::from_utf8(said).expect("UTF-8");
    assert!(said.starts_with("HTTP/1.1 400") && said.contains(r#""error""#), "{said}");

    assert!(answered(server.address, "ca.pem").await.contains("response.completed"));
    server.stop().await;
}

/// Waits until an answer is under way or none, of a model that only this test has.
async fn under_way(server: &TestServer, expected: bool) {
    let began = Instant::now();
    while (metric(server.admin, r#"sluice_streams{model_name="leaving-tls"}"#).await > 0.0) != expected {
        assert!(began.elapsed() < Duration::from_secs(20), "an answer is under way: {}", !expected);
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_ends_its_answer() {
    let (server, _, _folder) = start(|setup| setup.model.served_names = vec!["leaving-tls".to_owned()]).await;
    for streams in [true, false] {
        let body = json!({ "model": "leaving-tls", "input": "Talk for ever", "stream": streams });
        let stream = connect(server.address, "ca.pem").await.expect("a handshake");
        let mut answer = Box::pin(open_on(stream, json_request("/v1/responses", body.to_string())));
        // What was opened of the answer stays open.
        let mut opened = None;
        tokio::select! {
            () = async { opened = answer.as_mut().await.ok(); std::future::pending().await } => {}
            () = under_way(&server, true) => {}
        }
        drop((opened, answer));
        under_way(&server, false).await;
    }
    server.stop().await;
}
