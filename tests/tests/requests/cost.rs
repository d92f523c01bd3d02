//! Resources that requests may use, over real sockets: compressed bodies, the memory that bodies
//! share, the CPU time of a key, and bodies of very many small values, which are refused by the
//! number of values and cost no more than their size.

use std::io::Write as _;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{self, Answer};
use tests::server::{Setup, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HELLO: &str = r#"{"model": "qwen3-tiny", "input": "Hello", "max_output_tokens": 2}"#;

async fn send(server: &TestServer, body: Vec<u8>, encoding: Option<&str>, key: Option<&str>) -> Answer {
    send_to(server, "/v1/responses", body, encoding, key).await
}

async fn send_to(
    server: &TestServer,
    path: &str,
    body: Vec<u8>,
    encoding: Option<&str>,
    key: Option<&str>,
) -> Answer {
    let mut request = Request::post(path).header("host", "localhost");
    request = request.header("content-type", "application/json");
    if let Some(encoding) = encoding {
        request = request.header("content-encoding", encoding);
    }
    if let Some(key) = key {
        request = request.header("x-api-key", key);
    }
    let request = request.body(Full::new(Bytes::from(body))).expect("a request");
    client::send(server.address, request).await
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packed_bodies_are_read_within_the_bound_on_bodies() {
    let mut setup = Setup::default();
    setup.limits.http.body_bytes = 1 << 20;
    let server = TestServer::start(setup).await;
    let zstd = zstd::encode_all(HELLO.as_bytes(), 1).expect("memory");
    for (body, encoding) in [(gzip(HELLO.as_bytes()), "gzip"), (zstd, "zstd")] {
        let answer = send(&server, body, Some(encoding), None).await;
        assert_eq!(answer.status, StatusCode::OK, "{encoding}: {:?}", answer.body);
        assert_eq!(answer.json()["status"], "incomplete");
    }
    let bomb = gzip(&vec![b' '; 2 << 20]);
    assert_eq!(send(&server, bomb, Some("gzip"), None).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    let answer = send(&server, HELLO.into(), Some("br"), None).await;
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(answer.json()["error"]["code"], "unsupported_media_type");
    let answer = send(&server, HELLO.into(), Some("gzip"), None).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    server.stop().await;
}

/// Sends a body except its last byte and keeps the connection open.
async fn half_a_body(server: &TestServer, path: &str, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).await.expect("a connection");
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        bytes + 1
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    stream.write_all(&vec![b' '; bytes]).await.expect("written");
    stream
}

/// Waits for the first answer on either connection; returns its beginning, its connection, and the
/// other connection.
async fn first_answered(mut one: TcpStream, mut other: TcpStream) -> ([u8; 12], TcpStream, TcpStream) {
    let (mut start, mut other_start) = ([0; 12], [0; 12]);
    let is_one = tokio::select! {
        read = one.read_exact(&mut start) => read.is_ok(),
        read = other.read_exact(&mut other_start) => read.is_err(),
    };
    if is_one { (start, one, other) } else { (other_start, other, one) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_share_a_memory_with_some_for_small_ones() {
    let mut setup = Setup::default();
    setup.limits.model.accounts.memory = 16 << 20;
    let server = TestServer::start(setup).await;
    // Three times 4 MiB are accounted when one of these bodies has arrived: too little is left for
    // the other, whichever that is.
    let count = "/v1/responses/input_tokens";
    let (one, other) =
        tokio::join!(half_a_body(&server, "/v1/responses", 4 << 20), half_a_body(&server, count, 4 << 20));
    let (start, mut refused, waiting) = first_answered(one, other).await;
    assert_eq!(&start, b"HTTP/1.1 503");
    let mut rest = String::new();
    refused.write_all(b" ").await.expect("written");
    refused.shutdown().await.expect("closed");
    let _ = refused.read_to_string(&mut rest).await;
    assert!(rest.to_ascii_lowercase().contains("retry-after: 1"), "{rest}");
    assert!(rest.contains("Please try again"), "{rest}");
    assert_eq!(send(&server, HELLO.into(), None, None).await.status, StatusCode::OK);
    drop(waiting);
    // The memory is free again when the server has noticed that the client disconnected.
    let large = format!("{HELLO}{}", " ".repeat(3 << 20));
    loop {
        let status = send(&server, large.clone().into_bytes(), None, None).await.status;
        if status != StatusCode::SERVICE_UNAVAILABLE {
            assert_eq!(status, StatusCode::OK);
            break;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn name_that_used_its_cpu_time_waits_and_no_other() {
    let mut setup = Setup::default();
    setup.limits.model.accounts.cpu = 1;
    setup.keys = ["a=greedy", "a=of-the-same-name", "modest"].map(str::to_owned).into();
    let server = TestServer::start(setup).await;
    let large = format!("{{\"model\": \"qwen3-tiny\", \"input\": [{}1]}}", "[1,2,3],".repeat(1 << 19));
    let mut answers = 0;
    let refused = loop {
        let answer = send(&server, large.clone().into_bytes(), None, Some("greedy")).await;
        answers += 1;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            break answer;
        }
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{:?}", answer.body);
        assert!(answers < 10_000, "nothing bounds it");
    };
    assert!(refused.headers["retry-after"].to_str().expect("ASCII").parse::<u64>().expect("seconds") >= 1);
    for key in ["greedy", "of-the-same-name"] {
        assert_eq!(send(&server, HELLO.into(), None, Some(key)).await.status, StatusCode::TOO_MANY_REQUESTS);
    }
    assert_eq!(send(&server, HELLO.into(), None, Some("modest")).await.status, StatusCode::OK);
    server.stop().await;
}

/// Counting costs as much as making a prompt, and generates nothing that would end it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counting_large_inputs_spends_only_its_keys_time() {
    let large = "Who are you? ".repeat(2 << 10);
    for (path, field) in [
        ("/v1/responses/input_tokens", json!(large)),
        ("/v1/messages/count_tokens", json!([{ "role": "user", "content": large }])),
    ] {
        let mut setup = Setup::default();
        setup.limits.model.accounts.cpu = 1;
        setup.keys = vec!["greedy".to_owned(), "modest".to_owned()];
        let server = TestServer::start(setup).await;
        let body = json!({ "model": "qwen3-tiny", "input": field, "messages": field }).to_string();
        let mut answers = 0;
        while let answer = send_to(&server, path, body.clone().into_bytes(), None, Some("greedy")).await
            && answer.status != StatusCode::TOO_MANY_REQUESTS
        {
            assert_eq!(answer.status, StatusCode::OK, "{path}: {:?}", answer.body);
            answers += 1;
            assert!(answers < 10_000, "{path}: nothing bounds it");
        }
        assert!(answers > 0, "{path}");
        let refused = send(&server, HELLO.into(), None, Some("greedy")).await;
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{path}");
        assert_eq!(send(&server, HELLO.into(), None, Some("modest")).await.status, StatusCode::OK, "{path}");
        server.stop().await;
    }
}

/// Body with `count` copies of `part` in `field`, and `rest` at its end.
fn many(field: &str, part: &str, count: usize, rest: &str) -> Vec<u8> {
    let list = vec![part; count].join(",");
    format!("{{\"model\": \"qwen3-tiny\", \"{field}\": [{list}]{rest}}}").into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_many_small_things_are_refused_by_name() {
    let mut setup = Setup::default();
    setup.limits.request.tool_values = 10_000;
    let server = TestServer::start(setup).await;
    let input = r#", "input": "Hello""#;
    let schema = |bytes| {
        let text = "x".repeat(bytes);
        format!("{{\"type\":\"function\",\"name\":\"f\",\"description\":\"{text}\"}}")
    };
    let enumeration = format!(
        "{{\"type\":\"function\",\"name\":\"f\",\"parameters\":{{\"enum\":[{}0]}}}}",
        "{},".repeat(40_000)
    );
    let parts = format!(
        "{{\"role\":\"user\",\"content\":[{}]}}",
        vec![r#"{"type":"text","text":""}"#; 100_000].join(",")
    );
    let stop = format!(r#", "prompt": "a", "stop": ["{}"]"#, "x".repeat(2000));
    for (path, body, what) in [
        ("/v1/responses", many("tools", &enumeration, 1, input), "tools: at most 10000 JSON values, got 40"),
        (
            "/v1/responses",
            many("tools", &schema(2_000_000), 1, input),
            "bytes of JSON, of which this model's context can hold 327680 at the most",
        ),
        ("/v1/responses", many("tools", "{}", 600, input), "tools: at most 512 tools, got 600"),
        (
            "/v1/responses",
            many("input", r#"{"role":"user","content":"x"}"#, 20_000, ""),
            "input: at most 16384 of them, got 20000",
        ),
        (
            "/v1/chat/completions",
            many("messages", r#"{"role":"user","content":"x"}"#, 20_000, ""),
            "messages: at most 16384 of them, got 20000",
        ),
        (
            "/v1/messages",
            many("messages", r#"{"role":"user","content":"x"}"#, 20_000, r#", "max_tokens": 1"#),
            "messages: at most 16384 of them, got 20000",
        ),
        (
            "/v1/chat/completions",
            many("messages", &parts, 1, ""),
            "the request has more than 131072 fields to read, schemas apart",
        ),
        ("/v1/completions", many("prompt", "1", 100_000, ""), "resulted in 100000 tokens"),
        ("/tokenize", many("prompt", "1", 100_000, ""), "resulted in 100000 tokens"),
        ("/detokenize", many("tokens", "1", 100_000, ""), "resulted in 100000 tokens"),
        ("/v1/completions", many("x", "1", 1, &stop), "stop[0]: it is longer than 1024 bytes"),
    ] {
        let answer = client::send(server.address, client::json_request(path, body)).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}: {:?}", answer.body);
        let error: Value = answer.json();
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains(what), "{path}: {message}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversation_that_cannot_fit_is_refused_unrendered() {
    let server = TestServer::start(Setup::default()).await;
    let body = json!({ "model": "qwen3-tiny", "input": "x".repeat(4 << 20) });
    let answer = client::post(server.address, "/v1/responses", &body).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert_eq!(answer.json()["error"]["code"], "context_length_exceeded");
    server.stop().await;
}
