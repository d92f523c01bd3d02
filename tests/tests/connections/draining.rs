//! A server that drains: its listeners stay open, `/health` and new requests get 503, answers that
//! have begun go on, and nothing that comes late keeps it from ending.

use std::sync::Arc;

use model::EngineChoice;
use serde_json::{Value, json};
use tests::client::{Answer, Open, get, json_request, open, post};
use tests::fake_engine::{Action, FakeEngine, done, event, head};
use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// A server, and an answer of it that has begun and ends when the test allows it.
struct Begun {
    server: TestServer,
    _engine: FakeEngine,
    answer: Open,
    may_end: Arc<Semaphore>,
}

async fn begun() -> Begun {
    let may_end = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&may_end);
    let engine = FakeEngine::start(move |_, _| {
        let begin = [head(), event(&[300], None)].concat();
        vec![
            Action::Send(begin),
            Action::Wait(Arc::clone(&gate)),
            Action::Send([event(&[], Some("stop")), done()].concat()),
        ]
    })
    .await;
    let mut setup = Setup::default();
    setup.model.engine = engine.url().parse::<EngineChoice>().expect("a URL");
    let server = TestServer::start(setup).await;
    let mut answer = open(server.address, json_request("/v1/responses", asking(true).to_string())).await;
    answer.next().await.expect("the opening events");
    Begun { server, _engine: engine, answer, may_end }
}

fn asking(stream: bool) -> Value {
    json!({ "model": "qwen3-tiny", "input": "Who are you?", "stream": stream })
}

/// Tells the server to stop, and waits until it says so.
async fn drains(server: &mut TestServer) -> Answer {
    server.begin_stop();
    loop {
        let health = get(server.address, "/health").await;
        if health.status != 200 {
            return health;
        }
    }
}

fn is_told(answer: &Answer) {
    let error = answer.json()["error"].clone();
    assert_eq!(answer.status, 503, "{error}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("draining")), "{error}");
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(answer.headers["connection"], "close");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_requests_hear_of_draining_while_streams_end() {
    let Begun { mut server, _engine, mut answer, may_end } = begun().await;
    is_told(&drains(&mut server).await);
    is_told(&get(server.admin, "/health").await);
    for address in [server.address, server.admin] {
        is_told(&get(address, "/ready").await);
        assert_eq!(get(address, "/live").await.status, 200);
    }
    is_told(&get(server.admin, "/admin/parsers").await);
    for path in ["/v1/models", "/version", "/nothing"] {
        is_told(&get(server.address, path).await);
    }
    let large = json!({ "model": "qwen3-tiny", "input": "x".repeat(1 << 20) });
    for path in ["/v1/responses", "/v1/chat/completions", "/v1/completions", "/v1/responses/input_tokens"] {
        let refused = post(server.address, path, &large).await;
        is_told(&refused);
        assert_eq!(refused.json()["error"]["type"], "server_error");
    }
    let refused = post(server.address, "/v1/messages", &large).await;
    is_told(&refused);
    assert_eq!(refused.json()["type"], "error");
    assert_eq!(get(server.address, "/metrics").await.status, 200, "metrics show how far the drain is");
    may_end.add_permits(1);
    let mut body = Vec::new();
    while let Some(bytes) = answer.next().await {
        body.extend_from_slice(&bytes);
    }
    let text = String::from_utf8(body).expect("UTF-8");
    assert!(text.contains("event: response.completed"), "{text}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_connections_do_not_prolong_the_drain() {
    let Begun { mut server, _engine, answer, .. } = begun().await;
    drains(&mut server).await;
    let mut late = Vec::new();
    for address in [server.address, server.admin] {
        for sent in [&b""[..], b"GET /health HTTP/1.1\r\n"] {
            let mut client = TcpStream::connect(address).await.expect("it listens");
            client.write_all(sent).await.expect("written");
            late.push(client);
        }
    }
    // An answer on a connection that came after them: they have been accepted.
    is_told(&get(server.address, "/health").await);
    is_told(&get(server.admin, "/health").await);
    drop(answer);
    server.stop().await;
    for mut client in late {
        let closed = client.read(&mut [0]).await;
        assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_from_before_is_told_once_and_closed() {
    let Begun { mut server, _engine, answer, .. } = begun().await;
    let request: &[u8] = b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut clients = Vec::new();
    // A connection that has sent nothing, half a request, a whole one, and one and a half.
    for sent in [&[], &request[..20], request, &[request, &request[..20]].concat()] {
        let mut client = TcpStream::connect(server.address).await.expect("it listens");
        client.write_all(sent).await.expect("written");
        if sent.len() >= request.len() {
            let mut answer = vec![0; 4096];
            let count = client.read(&mut answer).await.expect("an answer");
            assert!(answer[..count].starts_with(b"HTTP/1.1 200"));
        }
        clients.push((client, sent.len() % request.len()));
    }
    drains(&mut server).await;
    for (mut client, sent) in clients {
        client.write_all(&request[sent..]).await.expect("it is open");
        let mut told = String::new();
        client.read_to_string(&mut told).await.expect("an answer, and the end");
        assert!(told.starts_with("HTTP/1.1 503") && told.contains("draining"), "{sent}: {told}");
        assert!(told.contains("connection: close") && told.contains("retry-after: 1"), "{sent}: {told}");
        assert_eq!(told.matches("HTTP/1.1").count(), 1, "{sent}: {told}");
    }
    drop(answer);
    server.stop().await;
}
