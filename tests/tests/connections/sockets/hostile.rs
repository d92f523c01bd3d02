//! Hostile clients: each is refused in words, bounded or cut off, its answers end, and the server
//! serves others.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures_util::SinkExt;
use serde_json::json;
use tests::client::{get, metric};
use tests::fake_engine::{Action, FakeEngine, event, head};
use tests::server::{Setup, TestServer};
use tests::socket::{Socket, text};
use tests::tools::eventually;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::engine::{Gated, Scripted};

/// A socket as bytes.
struct Raw<S = TcpStream>(S);

impl Raw {
    async fn open(server: &TestServer) -> Self {
        let mut stream = TcpStream::connect(server.address).await.expect("a connection");
        let request = "GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
            sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(request.as_bytes()).await.expect("written");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a head"));
        }
        assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        Self(stream)
    }

    /// All that the server sends until it closes the connection.
    async fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        // A reset is an end as well.
        let _ = self.0.read_to_end(&mut all).await;
        all
    }
}

impl<S: AsyncWrite + Unpin> Raw<S> {
    /// Sends a frame whose mask is zero.
    async fn send(&mut self, first: u8, payload: &[u8]) {
        self.try_send(first, payload).await.expect("written");
    }

    async fn try_send(&mut self, first: u8, payload: &[u8]) -> std::io::Result<()> {
        let mut frame = vec![first];
        match payload.len() {
            short @ 0..126 => frame.push(0x80 | u8::try_from(short).expect("short")),
            long => {
                frame.push(0x80 | 127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(payload);
        self.0.write_all(&frame).await
    }
}

const TEXT: u8 = 0x81;
const TEXT_PART: u8 = 0x01;
const REST: u8 = 0x80;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;
const CLOSE: u8 = 0x88;

/// Whether the server's bytes end in a close frame with this code.
fn closes_with(bytes: &[u8], code: u16) -> bool {
    bytes.windows(4).any(|part| part[0] == 0x88 && part[2..] == code.to_be_bytes())
}

/// That the server serves on.
async fn is_well(server: &TestServer) {
    assert_eq!(get(server.address, "/health").await.status, 200);
    let mut socket = Socket::open(server.address).await;
    assert_eq!(text(&socket.answer(json!({ "input": "Hi" })).await), "Hello!");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_frames_and_messages_are_refused_in_words() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.limits.http.body_bytes = 64 << 10).await;
    for parts in [1, 4] {
        let mut socket = Raw::open(&server).await;
        let part = vec![b' '; (65 << 10) / parts];
        for number in 0..parts {
            let first = if parts == 1 {
                TEXT
            } else if number == 0 {
                TEXT_PART
            } else if number + 1 == parts {
                REST
            } else {
                0
            };
            socket.send(first, &part).await;
        }
        let rest = socket.rest().await;
        assert!(String::from_utf8_lossy(&rest).contains(r#""code":"request_too_large""#), "{}", rest.len());
        assert!(closes_with(&rest, 1009));
    }
    // Its head alone is enough.
    let mut socket = Raw::open(&server).await;
    socket
        .0
        .write_all(&[TEXT, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
        .await
        .expect("written");
    assert!(closes_with(&socket.rest().await, 1009));
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_text_ends_the_socket() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Raw::open(&server).await;
    socket.send(TEXT, b"{\"type\":\"\xff\"}").await;
    let rest = socket.rest().await;
    assert!(String::from_utf8_lossy(&rest).contains(r#""code":"invalid_json""#));
    assert!(closes_with(&rest, 1007));
    for (what, first, masked) in [
        ("unmasked", TEXT, false),
        ("reserved bits", 0xf1, true),
        ("an unknown opcode", 0x83, true),
        ("a rest of nothing", REST, true),
    ] {
        let mut socket = Raw::open(&server).await;
        if masked {
            socket.send(first, b"{}").await;
        } else {
            socket.0.write_all(&[first, 2, b'{', b'}']).await.expect("written");
        }
        assert!(closes_with(&socket.rest().await, 1002), "{what}");
    }
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_in_parts_is_one_event_despite_pings() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let event = json!({ "type": "response.create", "model": "qwen3-tiny", "input": "é🌍".repeat(30_000) })
        .to_string();
    let parts: Vec<&[u8]> = event.as_bytes().chunks(1001).collect();
    for (number, part) in parts.iter().enumerate() {
        let kind = if number == 0 { Data::Text } else { Data::Continue };
        let frame = Frame::message(part.to_vec(), OpCode::Data(kind), number + 1 == parts.len());
        socket.message(Message::Frame(frame)).await;
        if number % 10 == 0 {
            socket.message(Message::Ping(vec![7; 100].into())).await;
        }
    }
    loop {
        match socket.next_message().await.expect("an answer") {
            Message::Pong(payload) => assert_eq!(payload, vec![7; 100]),
            Message::Text(text) => {
                // It is more than the model's context: the whole text was read.
                assert!(text.contains("context_length_exceeded"), "{text}");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    drop(socket);
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_requests_at_once_are_answered_or_refused() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let event = json!({ "type": "response.create", "model": "qwen3-tiny", "input": "Hi", "stream_id": "a" })
        .to_string();
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..1000 {
        socket.0.feed(Message::text(event.clone())).await.expect("an open socket");
    }
    socket.0.flush().await.expect("an open socket");
    while answered + refused < 1000 {
        let last = socket.response().await.pop().expect("an end");
        if last["type"] == "error" {
            assert_eq!(
                (&last["status"], &last["error"]["code"]),
                (&json!(429), &json!("rate_limit_exceeded"))
            );
            refused += 1;
        } else {
            assert_eq!(last["type"], "response.completed");
            answered += 1;
        }
    }
    assert!(answered >= 256, "as many as may wait: {answered}");
    drop(socket);
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_ends_its_responses() {
    let gated = Gated::start().await;
    for (number, leave) in
        ["a close message", "a reset", "the end of its sending side"].into_iter().enumerate()
    {
        let mut socket = Socket::open(gated.server.address).await;
        for lane in ["a", "b"] {
            socket.create(json!({ "input": "Hi", "stream_id": lane })).await;
        }
        gated.asked(2 * number + 2).await;
        match leave {
            "a close message" => {
                socket.0.close(None).await.expect("an open socket");
                assert_eq!(socket.rest().await.1, None, "the handshake ends without a code of its own");
            }
            "a reset" => socket.0.get_ref().set_zero_linger().expect("a socket"),
            _ => {
                socket.0.get_mut().shutdown().await.expect("a socket");
                assert_eq!(socket.rest().await.1, None);
            }
        }
        drop(socket);
        gated.engine.received.wait_until(|log| log.disconnected() == 2 * number + 2).await;
    }
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_reads_nothing_is_cut_off() {
    let Scripted { server, .. } =
        Scripted::with(|setup| setup.limits.http.slow_reader = Duration::from_millis(200)).await;
    let mut socket = Raw::open(&server).await;
    // Refusals are events, too.
    while socket.try_send(TEXT, b"{}").await.is_ok() {}
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_ends_whose_client_reads_nothing() {
    let sent = Arc::new(AtomicUsize::new(0));
    let flood = Action::Flood { bytes: event(&[300; 64], None), most: usize::MAX, sent: Arc::clone(&sent) };
    let engine = FakeEngine::start(move |_, _| vec![Action::Send(head()), flood.clone()]).await;
    let mut setup = Setup::default();
    setup.model.engine = engine.url().parse().expect("a URL");
    setup.limits.http.slow_reader = Duration::from_millis(200);
    let server = TestServer::start(setup).await;
    let mut socket = Socket::open(server.address).await;
    for lane in ["a", "b"] {
        socket.create(json!({ "input": "Hi", "stream_id": lane })).await;
    }
    engine.received.wait_until(|log| log.disconnected() == 2).await;
    assert_eq!(get(server.address, "/health").await.status, 200);
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_message_has_as_long_as_a_body_to_arrive() {
    let Scripted { server, .. } =
        Scripted::with(|setup| setup.limits.http.body_time = Duration::from_millis(100)).await;
    let mut socket = Raw::open(&server).await;
    let mut begun = vec![TEXT, 0xff];
    begun.extend(1_000_000_u64.to_be_bytes());
    begun.extend([0; 4]);
    begun.extend(vec![b' '; 100_000]);
    socket.0.write_all(&begun).await.expect("written");
    let rest = socket.rest().await;
    assert!(String::from_utf8_lossy(&rest).contains(r#""status":408"#));
    assert!(closes_with(&rest, 1008));
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_charged_while_they_arrive() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.limits.model.accounts.memory = 2 << 20).await;
    let mut begun = vec![TEXT, 0xff];
    begun.extend(1_000_000_u64.to_be_bytes());
    begun.extend([0; 4]);
    begun.extend(vec![b' '; 400_000]);
    let mut first = Raw::open(&server).await;
    first.0.write_all(&begun).await.expect("written");
    // It holds three times as much as came of it so far, so there is no room for as much again.
    eventually("it holds memory", async || {
        metric(server.address, "sluice_request_memory_bytes").await >= 1_200_000.0
    })
    .await;
    let mut second = Raw::open(&server).await;
    second.0.write_all(&begun).await.expect("written");
    let rest = second.rest().await;
    assert!(String::from_utf8_lossy(&rest).contains(r#""code":"server_unavailable""#));
    assert!(closes_with(&rest, 1013));
    drop(first);
    eventually("the memory is given back", async || {
        metric(server.address, "sluice_request_memory_bytes").await <= 0.0
    })
    .await;
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_pings_changes_nothing() {
    let Scripted { server, .. } = Scripted::start().await;
    let (mut receiver, sender) = Raw::open(&server).await.0.into_split();
    let mut sender = Raw(sender);
    let flood = async {
        for _ in 0..50_000 {
            sender.send(PING, &[7; 125]).await;
        }
        let create = json!({ "type": "response.create", "model": "qwen3-tiny", "input": "Hi" }).to_string();
        sender.send(TEXT, create.as_bytes()).await;
        sender.send(CLOSE, &1000_u16.to_be_bytes()).await;
    };
    let mut rest = Vec::new();
    let (read, ()) = tokio::join!(receiver.read_to_end(&mut rest), flood);
    read.expect("the server closes");
    assert!(rest.starts_with(&[PONG, 125, 7, 7]));
    assert!(closes_with(&rest, 1000));
    is_well(&server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_pings_with_unread_answers_is_cut_off() {
    let Scripted { server, .. } =
        Scripted::with(|setup| setup.limits.http.slow_reader = Duration::from_millis(200)).await;
    let mut socket = Raw::open(&server).await;
    while socket.try_send(PING, &[7; 125]).await.is_ok() {}
    is_well(&server).await;
    server.stop().await;
}
