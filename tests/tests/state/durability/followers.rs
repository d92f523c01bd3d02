//! Crowds of clients that follow one background response and read nothing.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tests::client::{answered, get};
use tests::process::ServerProcess;
use tests::server::{Setup, TestServer};
use tests::tools::eventually;

/// Tokens of the long answer, whose events have about ten megabytes.
const TOKENS: usize = 60_000;

fn rules() -> Value {
    json!([
        { "when": { "last_user_contains": "long" }, "text": "a ".repeat(TOKENS) },
        { "text": "Four." }
    ])
}

/// Makes the long background response. Returns its path, once it has ended.
async fn long(address: SocketAddr, model: &str) -> String {
    let body =
        json!({ "model": model, "input": "long", "background": true, "reasoning": { "effort": "none" } });
    let queued = answered(address, "/v1/responses", &body).await;
    let path = format!("/v1/responses/{}", queued["id"].as_str().unwrap());
    eventually("it completes", async || get(address, &path).await.json()["status"] == "completed").await;
    path
}

/// A client that follows, has got the beginning of its answer, and reads no more.
fn silent(address: SocketAddr, path: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "GET {path}?stream=true HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut head = [0; 15];
    socket.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    socket
}

/// Each of them made the server copy the whole log into its memory, and keep it as long as its
/// connection was open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_followers_hold_little_and_keep_nobody_waiting() {
    const CROWD: usize = 150;
    const MOST_MIB: f64 = 128.0;
    let server = ServerProcess::start(&rules(), &["--store-log", "1024", "--context", "200000"]);
    let address = server.address;
    let path = long(address, "bench").await;
    let log = get(address, &format!("{path}?stream=true")).await;
    assert!(log.body.len() > 9 << 20, "{}", log.body.len());
    let (events, before) = (log.events().len(), server.resident_mib());
    drop(log);
    server.reset_peak();
    let crowd: Vec<TcpStream> = (0..CROWD).map(|_| silent(address, &path)).collect();
    // Others are answered, and whoever reads gets everything.
    let answer = answered(address, "/v1/responses", &json!({ "model": "bench", "input": "2+2?" })).await;
    assert_eq!(answer["status"], "completed");
    assert_eq!(get(address, &format!("{path}?stream=true")).await.events().len(), events);
    let grown = server.peak_mib() - before;
    assert!(grown < MOST_MIB, "{grown} MiB");
    drop(crowd);
}

/// Their connections stayed open after their followers had given up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_followers_are_disconnected_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Setup::replay(folder.path(), &rules());
    setup.model.context = Some(200_000);
    setup.limits.http.slow_reader = Duration::from_millis(50);
    // The stop waits for every connection that is in use.
    setup.limits.http.grace = Duration::from_hours(1);
    let server = TestServer::start(setup).await;
    let path = long(server.address, "qwen3-tiny").await;
    let crowd: Vec<TcpStream> = (0..20).map(|_| silent(server.address, &path)).collect();
    let stopped = tokio::time::timeout(Duration::from_mins(1), server.stop()).await;
    assert!(stopped.is_ok(), "the server waits for clients that read nothing");
    drop(crowd);
}
