//! Messages over sockets: every transcript in every grouping of tokens, cut at every token. The
//! stream is well-formed, and its deltas together are the message that isn't streamed. Then: what
//! clients send, and how their requests are refused.

use std::time::Duration;

use api::Protocol;
use http::HeaderValue;
use serde_json::{Value, json};
use tests::client::{Answer, get, json_request, open, post, send};
use tests::mask::masked;
use tests::server::{Setup, TestServer};
use tests::transcripts::{QWEN3, messages_tools, rules};

const SIZES: &[usize] = &[1, 2, 3, 8, 0];
const PATH: &str = "/v1/messages";
const COUNT: &str = "/v1/messages/count_tokens";

async fn scripted(rules: &Value) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), rules);
    setup.model.context = Some(65_536);
    (TestServer::start(setup).await, folder)
}

fn request(text: &str, limit: u64, stream: bool) -> Value {
    json!({ "model": "qwen3-tiny", "max_tokens": limit, "stream": stream, "tools": messages_tools(),
            "thinking": { "type": "adaptive" }, "messages": [{ "role": "user", "content": text }] })
}

/// Message that a client assembles from a stream, which must be well-formed; for a stream that ends
/// in an error, the error event.
fn folded(answer: &Answer) -> Value {
    let mut check = Protocol::Messages.check();
    check.feed(&answer.body).and_then(|()| check.finish()).unwrap_or_else(|violation| {
        panic!("{violation}\n{}", String::from_utf8_lossy(&answer.body));
    });
    let events = answer.events();
    let mut message = events[0]["message"].clone();
    let (mut blocks, mut input) = (Vec::new(), String::new());
    for event in &events {
        match event["type"].as_str().expect("a type") {
            "content_block_start" => {
                input.clear();
                blocks.push(event["content_block"].clone());
            }
            "content_block_delta" => add(&event["delta"], blocks.last_mut().expect("a block"), &mut input),
            "content_block_stop" => end(blocks.last_mut().expect("a block"), &input),
            "message_delta" => {
                message["usage"] = event["usage"].clone();
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["stop_sequence"] = event["delta"]["stop_sequence"].clone();
            }
            "error" => return event.clone(),
            _ => {}
        }
    }
    message["content"] = blocks.into();
    message
}

fn add(delta: &Value, block: &mut Value, input: &mut String) {
    for field in ["text", "thinking", "signature"] {
        if let Some(more) = delta[field].as_str() {
            block[field] = json!(format!("{}{more}", block[field].as_str().expect("text")));
        }
    }
    input.push_str(delta["partial_json"].as_str().unwrap_or_default());
}

fn end(block: &mut Value, input: &str) {
    if block["type"] == "tool_use" {
        block["input"] = serde_json::from_str(input).unwrap_or(json!({}));
    }
}

/// Removes what differs between two requests.
fn same(message: &Value) -> Value {
    let mut message = masked(message);
    if let Some(error) = message.as_object_mut() {
        error.remove("request_id");
    }
    message
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streamed_and_not_streamed_are_the_same() {
    let (server, _folder) = scripted(&rules(SIZES)).await;
    for (name, _) in QWEN3 {
        let mut first = None;
        for &size in SIZES {
            let text = format!("{name} at {size}.");
            let whole = post(server.address, PATH, &request(&text, 500, false)).await.json();
            let streamed = folded(&post(server.address, PATH, &request(&text, 500, true)).await);
            assert_eq!(same(&streamed), same(&whole), "{name} in steps of {size}");
            let expected = first.get_or_insert_with(|| same(&whole["content"]));
            assert_eq!(*expected, same(&whole["content"]), "{name}: grouping changed the blocks");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_at_every_token_every_stream_still_ends() {
    let (server, _folder) = scripted(&rules(SIZES)).await;
    for (name, _) in QWEN3 {
        let whole = post(server.address, PATH, &request(&format!("{name} at 1."), 500, false)).await.json();
        let total = whole["usage"]["output_tokens"].as_u64().unwrap_or(40);
        for limit in 1..total {
            let size = SIZES[usize::try_from(limit).expect("small") % SIZES.len()];
            let text = format!("{name} at {size}.");
            let whole = post(server.address, PATH, &request(&text, limit, false)).await.json();
            let streamed = folded(&post(server.address, PATH, &request(&text, limit, true)).await);
            assert_eq!(same(&streamed), same(&whole), "{name} cut after {limit}");
            if whole["type"] == "message" {
                assert_eq!(whole["stop_reason"], "max_tokens", "{name} cut after {limit}");
            }
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stop_sequence_that_came_is_named() {
    let (server, _folder) = scripted(&json!([{ "text": "One two three." }])).await;
    for stream in [false, true] {
        let mut body = request("x", 50, stream);
        body["stop_sequences"] = json!(["never", " three", "two thr"]);
        let answer = post(server.address, PATH, &body).await;
        let message = if stream { folded(&answer) } else { answer.json() };
        assert_eq!(message["content"], json!([{ "type": "text", "text": "One " }]));
        assert_eq!(
            (&message["stop_reason"], &message["stop_sequence"]),
            (&json!("stop_sequence"), &json!("two thr"))
        );
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn begun_answer_is_continued_under_any_served_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": " 42." }]));
    setup.model.served_names = vec!["qwen3-tiny".to_owned(), "claude-for-us".to_owned()];
    let server = TestServer::start(setup).await;
    let body = json!({ "model": "claude-for-us", "max_tokens": 9, "messages": [
        { "role": "user", "content": "6 * 7?" }, { "role": "assistant", "content": "The answer is" },
    ] });
    let message = post(server.address, PATH, &body).await.json();
    assert_eq!(message["content"], json!([{ "type": "text", "text": " 42." }]));
    assert_eq!((&message["model"], &message["stop_reason"]), (&json!("claude-for-us"), &json!("end_turn")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_silence_is_broken_by_pings() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "Hello", "finish": "hang" }]));
    setup.limits.http.heartbeat = Duration::from_millis(30);
    let server = TestServer::start(setup).await;
    let mut answer = open(server.address, json_request(PATH, request("x", 50, true).to_string())).await;
    let (mut seen, ping) = (Vec::new(), b"event: ping\ndata: {\"type\":\"ping\"}\n\n");
    let pinged = async {
        while let Some(bytes) = answer.next().await {
            seen.extend_from_slice(&bytes);
            if seen.windows(ping.len()).any(|window| window == ping) {
                return true;
            }
        }
        false
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), pinged).await.expect("in time"));
    drop(answer);
    server.stop().await;
}

/// Request as large as a coding agent's first request, with everything that such clients send.
fn agents_body() -> Value {
    let property = json!({ "type": "string", "description": "What the tool is to do, in words. ".repeat(8) });
    let schema = json!({ "type": "object", "properties": { "a": property, "b": property, "c": property }, "additionalProperties": false });
    let tool = |n: usize| json!({ "name": format!("tool_{n}"), "description": "It does things. ".repeat(100), "input_schema": schema });
    let mut tools: Vec<Value> = (0..16).map(tool).collect();
    tools.push(json!({ "type": "web_search_20250305", "name": "web_search", "max_uses": 8 }));
    let cached = |text: &str| json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral", "ttl": "1h" } });
    json!({
        "model": "qwen3-tiny", "max_tokens": 32_000, "stream": true, "tools": tools,
        "thinking": { "type": "adaptive" }, "output_config": { "effort": "medium" },
        "metadata": { "user_id": "{\"device_id\":\"d\"}" }, "context_management": { "edits": [] },
        "system": [cached("x-anthropic-billing-header: cc_version=2; cch=00000;"), cached(&"You are an agent. ".repeat(2000))],
        "messages": [
            { "role": "user", "content": [cached("<system-reminder>\nBe quick.\n</system-reminder>"), cached("Hello")] },
            { "role": "system", "content": "Available skills: none." },
        ],
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_are_refused_where_nothing_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let setup = Setup { store: None, ..Setup::replay(folder.path(), &json!([{ "text": "Hi." }])) };
    let server = TestServer::start(setup).await;
    let result = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "x" }]);
    for (thread, content) in [
        (json!({ "type": "create" }), json!("x")),
        (json!({ "type": "continue", "previous_message_id": "msg_1" }), result.clone()),
    ] {
        let messages = json!([{ "role": "user", "content": content }]);
        let body = json!({ "model": "qwen3-tiny", "max_tokens": 9, "messages": messages, "thread": thread });
        for path in ["/v1/messages", "/v1/messages/count_tokens"] {
            let answer = post(server.address, path, &body).await;
            let error = &answer.json()["error"];
            assert_eq!((answer.status.as_u16(), &error["type"]), (400, &json!("invalid_request_error")));
            assert_eq!(error["details"], json!({ "error_code": "thread_unsupported_request" }), "{path}");
        }
    }
    let orphan = json!({ "model": "qwen3-tiny", "max_tokens": 9, "messages": [{ "role": "user", "content": result }] });
    let answer = post(server.address, "/v1/messages", &orphan).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.status.as_u16(), &error["details"]), (400, &Value::Null));
    let message = error["message"].as_str().expect("text");
    assert!(message.starts_with("messages[0].content[0].tool_use_id: no `tool_use` block"), "{message}");
    let unthreaded = json!({ "model": "qwen3-tiny", "max_tokens": 9, "messages": [{ "role": "user", "content": "x" }], "thread": null });
    assert_eq!(post(server.address, "/v1/messages", &unthreaded).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_request_is_answered_and_omissions_are_told() {
    let (server, _folder) = scripted(&json!([{ "text": "Hi." }])).await;
    let body = agents_body();
    assert!(body.to_string().len() > 76_000, "{}", body.to_string().len());
    let mut request = json_request("/v1/messages?beta=true", body.to_string());
    for (name, value) in
        [("anthropic-version", "2023-06-01"), ("anthropic-beta", "claude-code-20250219,other-2026")]
    {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let answer = send(server.address, request).await;
    assert_eq!(folded(&answer)["content"], json!([{ "type": "text", "text": "Hi." }]));
    assert!(answer.headers.contains_key("request-id"));
    let warning = answer.headers["x-sluice-warning"].to_str().expect("ASCII");
    assert_eq!(warning, "tool of type web_search_20250305 ignored");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counted_tokens_are_those_of_the_prompt() {
    let (server, _folder) = scripted(&json!([{ "text": "Hi." }])).await;
    let mut body = request("How many?", 10, false);
    let usage = post(server.address, PATH, &body).await.json()["usage"].clone();
    body.as_object_mut()
        .expect("an object")
        .retain(|field, _| !["max_tokens", "stream"].contains(&field.as_str()));
    let counted = post(server.address, COUNT, &body).await;
    assert_eq!(counted.json(), json!({ "input_tokens": usage["input_tokens"] }));
    body["tools"] = json!([]);
    let fewer = post(server.address, COUNT, &body).await.json();
    assert!(fewer["input_tokens"].as_u64() < usage["input_tokens"].as_u64());
    server.stop().await;
}

/// Checks that the error object is complete; returns its message.
fn refused(answer: &Answer, status: u16, kind: &str) -> String {
    assert_eq!(answer.status, status, "{:?}", answer.body);
    let body = answer.json();
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!(kind)));
    for id in ["request-id", "x-request-id"] {
        assert_eq!(body["request_id"], answer.headers[id].to_str().expect("ASCII"));
    }
    body["error"]["message"].as_str().expect("a message").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_has_anthropics_shape() {
    let setup = Setup { keys: vec!["secret".to_owned()], ..Setup::default() };
    let server = TestServer::start(setup).await;
    let address = server.address;
    let keyed = |path: &str, body: String| {
        let mut request = json_request(path, body);
        request.headers_mut().insert("x-api-key", HeaderValue::from_static("secret"));
        request
    };
    refused(&post(address, PATH, &request("x", 2, false)).await, 401, "authentication_error");
    assert_eq!(send(address, keyed(PATH, request("x", 2, false).to_string())).await.status, 200);
    let mut both = keyed(PATH, request("x", 2, false).to_string());
    both.headers_mut().insert("authorization", HeaderValue::from_static("Bearer for-a-gateway"));
    assert_eq!(send(address, both).await.status, 200);
    for (path, body, status, kind, part) in [
        (PATH, json!({ "model": "qwen3-tiny", "messages": [] }), 400, "invalid_request_error", "max_tokens"),
        (
            PATH,
            json!({ "model": "claude", "max_tokens": 1, "messages": [{ "role": "user", "content": "x" }] }),
            404,
            "not_found_error",
            "claude",
        ),
        (
            COUNT,
            json!({ "model": "claude", "messages": [{ "role": "user", "content": "x" }] }),
            404,
            "not_found_error",
            "claude",
        ),
        (
            PATH,
            request(&"Hello there! ".repeat(3000), 5, true),
            400,
            "invalid_request_error",
            "prompt is too long: ",
        ),
        (
            PATH,
            request(&"Hello there! ".repeat(200_000), 5, true),
            400,
            "invalid_request_error",
            "prompt is too long: ",
        ),
        (
            COUNT,
            request(&"Hello there! ".repeat(200_000), 5, true),
            400,
            "invalid_request_error",
            "prompt is too long: ",
        ),
        ("/v1/messages/batches", json!({}), 404, "not_found_error", "No route"),
    ] {
        let message = refused(&send(address, keyed(path, body.to_string())).await, status, kind);
        assert!(message.contains(part), "{message}");
    }
    let mut plain = keyed(PATH, String::new());
    plain.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
    refused(&send(address, plain).await, 415, "invalid_request_error");
    refused(&send(address, keyed(PATH, " ".repeat(33 << 20))).await, 413, "request_too_large");
    // Other routes keep OpenAI's shape of errors.
    assert_eq!(get(address, "/v1/models").await.json()["error"]["code"], "invalid_api_key");
    server.stop().await;
}
