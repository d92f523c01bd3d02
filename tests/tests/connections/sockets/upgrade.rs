//! The upgrade: who gets a socket, and who is told what instead.

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::Value;
use tests::client::{Answer, get, send};
use tests::socket::Socket;
use tests::tools::eventually;

use super::engine::Scripted;

fn request(method: Method, headers: &[(&'static str, &str)]) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri("/v1/responses").header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::default()).expect("a request")
}

const UPGRADE: [(&str, &str); 4] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

fn code(answer: &Answer) -> Value {
    answer.json()["error"]["code"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn socket_opens_without_offered_extensions() {
    let Scripted { server, .. } = Scripted::start().await;
    let offers = [
        ("sec-websocket-extensions", "permessage-deflate; client_max_window_bits"),
        ("sec-websocket-protocol", "realtime"),
    ];
    // The client itself refuses a protocol that it asked for and didn't get, so only extensions are
    // offered to it.
    let (_socket, response) = Socket::with_headers(server.address, &offers[..1]).await.expect("an upgrade");
    assert_eq!(response.status(), 101);
    assert!(!response.headers().contains_key("sec-websocket-extensions"));
    let mut raw = UPGRADE.to_vec();
    raw.extend(offers);
    let answer = tests::client::open(server.address, request(Method::GET, &raw)).await;
    assert_eq!(answer.status, 101);
    assert_eq!(answer.headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert!(!answer.headers.contains_key("sec-websocket-protocol"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_upgrade_is_told_what_is_there() {
    let Scripted { server, .. } = Scripted::start().await;
    for (name, value) in [("upgrade", "h2c"), ("sec-websocket-version", "8"), ("connection", "close")] {
        let mut headers = UPGRADE.to_vec();
        headers.retain(|(header, _)| *header != name);
        headers.push((name, value));
        let answer = send(server.address, request(Method::GET, &headers)).await;
        assert_eq!((answer.status.as_u16(), code(&answer)), (426, "upgrade_not_supported".into()), "{name}");
        assert_eq!(answer.headers["upgrade"], "websocket");
        assert_eq!(answer.headers["sec-websocket-version"], "13");
    }
    let answer = send(server.address, request(Method::GET, &UPGRADE[..3])).await;
    assert_eq!((answer.status.as_u16(), code(&answer)), (400, "invalid_websocket_key".into()));
    let mut with_body = request(Method::GET, &UPGRADE);
    *with_body.body_mut() =
        Full::new(Bytes::from_static(b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    let answer = send(server.address, with_body).await;
    assert_eq!((answer.status.as_u16(), code(&answer)), (400, "malformed_request".into()));
    for (method, headers) in
        [(Method::GET, &[][..]), (Method::HEAD, &UPGRADE[..]), (Method::PUT, &UPGRADE[..])]
    {
        assert_eq!(send(server.address, request(method, headers)).await.status, 405);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_sockets_clients_are_sent_to_http() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.no_web_socket = true).await;
    let answer = send(server.address, request(Method::GET, &UPGRADE)).await;
    assert_eq!((answer.status.as_u16(), code(&answer)), (426, "websocket_not_supported".into()));
    assert_eq!(answer.headers["upgrade"], "HTTP/1.1");
    assert_eq!(answer.headers["connection"], "upgrade");
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("POST /v1/responses"), "{message}");
    assert_eq!(get(server.address, "/v1/responses").await.status, 405);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_required_where_one_is_set() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.keys = vec!["ada=secret".to_owned()]).await;
    for headers in [&[][..], &[("authorization", "Bearer other")]] {
        let refusal = Socket::with_headers(server.address, headers).await.err().expect("a refusal");
        assert_eq!(refusal.status(), 401);
    }
    let mut socket = Socket::with_headers(server.address, &[("authorization", "Bearer secret")])
        .await
        .expect("a socket")
        .0;
    assert_eq!(socket.answer(serde_json::json!({ "input": "Hi" })).await["status"], "completed");
    drop(socket);
    server.stop().await;
}

/// A socket outlived its key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_was_removed_begins_no_response() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.keys = vec!["ada=secret".to_owned()]).await;
    let key = [("authorization", "Bearer secret")];
    let mut socket = Socket::with_headers(server.address, &key).await.expect("a socket").0;
    let hi = serde_json::json!({ "input": "Hi" });
    assert_eq!(socket.answer(hi.clone()).await["status"], "completed");
    server.keys.replace(vec!["ada=other".parse().expect("a key")]).expect("keys");
    socket.create(hi.clone()).await;
    let refused = socket.event().await;
    assert_eq!((&refused["type"], &refused["status"]), (&"error".into(), &401.into()), "{refused}");
    assert_eq!(refused["error"]["code"], "invalid_api_key");
    server.keys.replace(vec!["bob=secret".parse().expect("a key")]).expect("keys");
    socket.create(hi.clone()).await;
    assert_eq!(socket.event().await["status"], 401, "the key is somebody else's");
    server.keys.replace(vec!["ada=secret".parse().expect("a key")]).expect("keys");
    assert_eq!(socket.answer(hi).await["status"], "completed");
    drop(socket);
    server.stop().await;
}

/// Browsers apply no CORS to sockets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_origins_get_no_socket() {
    let Scripted { server, .. } =
        Scripted::with(|setup| setup.cors_origins = vec!["https://app.example".parse().expect("an origin")])
            .await;
    let opened = async |origin: &str| {
        Socket::with_headers(server.address, &[("origin", origin)])
            .await
            .map_err(|refusal| refusal.status().as_u16())
            .map(|_| ())
    };
    assert_eq!(opened("https://evil.example").await, Err(403));
    assert_eq!(opened("https://app.example").await, Ok(()));
    // A page of another port may not read answers over HTTP either.
    let local = "http://localhost:3000";
    assert_eq!(opened(local).await, Err(403));
    let request = Request::get("/v1/models").header("host", "localhost").header("origin", local);
    let answer = send(server.address, request.body(Full::default()).expect("a request")).await;
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    let own = format!("http://{}", server.address);
    assert_eq!(opened(&own).await, Ok(()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn socket_keeps_its_connections_place_until_it_closes() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.limits.http.connections = 1).await;
    let mut socket = Socket::open(server.address).await;
    assert_eq!(get(server.address, "/v1/models").await.status, 503);
    assert_eq!(socket.answer(serde_json::json!({ "input": "Hi" })).await["status"], "completed");
    drop(socket);
    // Its place is free when the server has noticed that the connection was closed.
    eventually("the place is free", async || get(server.address, "/v1/models").await.status != 503).await;
    server.stop().await;
}
