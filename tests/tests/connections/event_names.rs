//! Names of events for clients that ask for those of a release of Open Responses: in a stream, over
//! a WebSocket, and where a stored response is followed.

use http::{HeaderValue, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{json_request, post, send};
use tests::server::memory;
use tests::socket::Socket;

use super::sockets::Scripted;

const HEADER: &str = "openresponses-version";
const PATH: &str = "/v1/responses";

/// The events of reasoning among these.
fn reasoning(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    kinds.retain(|kind| kind.starts_with("response.reasoning"));
    kinds.dedup();
    kinds
}

fn names(release: &str) -> [&'static str; 2] {
    match release {
        "2026-04-24" => ["response.reasoning.delta", "response.reasoning.done"],
        _ => ["response.reasoning_text.delta", "response.reasoning_text.done"],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasoning_has_the_names_that_the_reader_asks_for() {
    let Scripted { server, .. } = &Scripted::with(|setup| setup.store = Some(memory())).await;
    let body = json!({ "model": "qwen3-tiny", "input": "think", "stream": true, "background": true });
    for release in ["2026-04-24", "latest"] {
        let header = HeaderValue::from_str(release).expect("a header");
        let mut id = String::new();
        for background in [false, true] {
            let mut body = body.clone();
            body["background"] = background.into();
            let mut request = json_request(PATH, body.to_string());
            request.headers_mut().insert(HEADER, header.clone());
            let answer = send(server.address, request).await;
            let events = answer.events();
            assert_eq!(reasoning(&events), names(release), "{events:?}");
            let text = std::str::from_utf8(&answer.body).expect("UTF-8");
            let lines = text.lines().filter_map(|line| line.strip_prefix("event: "));
            assert!(lines.eq(events.iter().filter_map(|event| event["type"].as_str())), "{text}");
            id = events[0]["response"]["id"].as_str().expect("an id").to_owned();
        }
        // Whoever follows it later has names of their own.
        for follower in ["2026-04-24", "latest"] {
            let request = Request::get(format!("{PATH}/{id}?stream=true")).header("host", "localhost");
            let request = request.header(HEADER, follower).body(Full::default()).expect("a request");
            let events = send(server.address, request).await.events();
            assert_eq!(reasoning(&events), names(follower), "{events:?}");
        }
        let (mut socket, _) =
            Socket::with_headers(server.address, &[(HEADER, release)]).await.expect("an upgrade");
        socket.create(json!({ "input": "think" })).await;
        let events = socket.response().await;
        assert_eq!(reasoning(&events), names(release), "{events:?}");
    }
    let plain =
        post(server.address, PATH, &json!({ "model": "qwen3-tiny", "input": "think", "stream": true })).await;
    assert_eq!(reasoning(&plain.events()), names("none"));
}
