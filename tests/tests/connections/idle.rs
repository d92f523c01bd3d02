//! Connections between two requests: they wait for a time of their own, which answers tell, and for
//! less where connections are many.

use std::time::Duration;

use serde_json::json;
use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const REQUEST: &[u8] = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_hours(1);

async fn server(head: Duration, idle: Duration, connections: usize) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "Hello." }]));
    (setup.limits.http.header_time, setup.limits.http.idle_time) = (head, idle);
    setup.limits.http.connections = connections;
    (TestServer::start(setup).await, folder)
}

/// Sends a request, and returns its answer.
async fn answered(client: &mut TcpStream) -> String {
    client.write_all(REQUEST).await.expect("it is served");
    let mut answer = vec![0; 4096];
    let count = client.read(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer[..count]).into_owned()
}

async fn connected(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.address).await.expect("a connection")
}

/// Waits until the server closes the connection. Returns what it said before.
async fn closed(client: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let _ = client.read_to_end(&mut said).await;
    String::from_utf8_lossy(&said).into_owned()
}

/// Agents whose tools took longer than a head may lost their connection with the next request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_waits_longer_for_a_request_than_for_the_rest_of_a_head() {
    let (server, _folder) = server(SHORT, LONG, 100).await;
    let mut idle = connected(&server).await;
    let answer = answered(&mut idle).await;
    assert!(answer.contains("\r\nkeep-alive: timeout=3600\r\n"), "{answer}");
    // Heads that don't end: of a new connection, and behind an answer.
    let mut new = connected(&server).await;
    new.write_all(&REQUEST[..20]).await.expect("it is taken");
    let mut second = connected(&server).await;
    answered(&mut second).await;
    second.write_all(&REQUEST[..20]).await.expect("it is taken");
    assert_eq!(closed(&mut new).await, "");
    assert_eq!(closed(&mut second).await, "");
    assert!(answered(&mut idle).await.starts_with("HTTP/1.1 200"));
    drop(idle);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_is_closed_in_the_end() {
    let (server, _folder) = server(LONG, SHORT, 100).await;
    let mut idle = connected(&server).await;
    assert!(answered(&mut idle).await.starts_with("HTTP/1.1 200"));
    assert_eq!(closed(&mut idle).await, "");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_waits_no_longer_than_for_a_head() {
    let (server, _folder) = server(Duration::from_secs(1), LONG, 8).await;
    let mut first = connected(&server).await;
    assert!(answered(&mut first).await.contains("\r\nkeep-alive: timeout=3600\r\n"));
    // The crowd's own heads don't come, so it is closed as well: it comes again until the first is gone.
    let mut was_told = false;
    let crowding = async {
        loop {
            let mut crowd = Vec::new();
            for _ in 0..6 {
                crowd.push(connected(&server).await);
            }
            let mut last = connected(&server).await;
            was_told |= answered(&mut last).await.contains("\r\nkeep-alive: timeout=1\r\n");
            closed(&mut crowd[0]).await;
        }
    };
    tokio::select! {
        said = closed(&mut first) => assert_eq!(said, ""),
        () = crowding => {}
    }
    assert!(was_told, "a connection that waits for less says so");
    server.stop().await;
}
