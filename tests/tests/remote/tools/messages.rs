//! Tools that the server runs for Messages: their blocks, their way back into a conversation, and what is refused.

use serde_json::{Value, json};
use tests::client::{answered, post};
use tests::server::TestServer;
use tests::tools::{calls, rules_then_done, setup};

const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile-mcp");
const MESSAGES: &str = "/v1/messages";

fn body(server: &Value, more: &Value) -> Value {
    let mut body = json!({
        "model": "qwen3-tiny", "max_tokens": 200, "mcp_servers": [server], "messages": [{ "role": "user", "content": "Go." }],
        "thinking": { "type": "adaptive" }
    });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

fn hostile() -> Value {
    json!({ "type": "url", "name": "hostile", "url": "https://unused.example" })
}

fn toolset(more: &Value) -> Value {
    let mut tool = json!({ "type": "mcp_toolset", "mcp_server_name": "hostile" });
    tool.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    json!({ "tools": [tool] })
}

fn kinds(answer: &Value) -> Vec<&str> {
    answer["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| block["type"].as_str().expect("a type"))
        .collect()
}

/// The blocks that a stream adds up to, checked against the grammar.
async fn streamed(server: &TestServer, body: &Value) -> Vec<Value> {
    let mut body = body.clone();
    body["stream"] = json!(true);
    let answer = post(server.address, MESSAGES, &body).await;
    let mut check = api::Protocol::Messages.check();
    check.feed(&answer.body).and_then(|()| check.finish()).expect("the grammar");
    let mut blocks: Vec<Value> = Vec::new();
    for event in answer.events() {
        match event["type"].as_str().expect("a type") {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" if event["delta"]["type"] == "input_json_delta" => {
                let last = blocks.last_mut().expect("a block");
                let so_far = last["text"].as_str().unwrap_or_default().to_owned();
                last["text"] = json!(so_far + event["delta"]["partial_json"].as_str().expect("a text"));
            }
            _ => {}
        }
    }
    blocks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_run_and_their_results_stand_behind_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = calls(&[("echo", json!({ "a": 1 })), ("fail", json!({}))]);
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules_then_done(&words))).await;
    let answer = answered(server.address, MESSAGES, &body(&hostile(), &toolset(&json!({})))).await;
    let answered_kinds = kinds(&answer);
    let of = |kind: &str| answered_kinds.iter().filter(|other| **other == kind).count();
    assert_eq!((of("mcp_tool_use"), of("mcp_tool_result"), of("text")), (2, 2, 1), "{answer:#}");
    let blocks = answer["content"].as_array().expect("blocks");
    let call = blocks.iter().find(|block| block["name"] == "echo").expect("the call");
    assert_eq!((&call["server_name"], &call["input"]), (&json!("hostile"), &json!({ "a": 1 })));
    let result = blocks.iter().find(|block| block["tool_use_id"] == call["id"]).expect("its result");
    assert_eq!((&result["is_error"], &result["content"][0]["text"]), (&json!(false), &json!("{\"a\":1}")));
    assert_eq!(blocks.iter().filter(|block| block["is_error"] == true).count(), 1);
    assert_eq!(answer["stop_reason"], "end_turn");

    let stream = streamed(&server, &body(&hostile(), &toolset(&json!({})))).await;
    let echo = stream.iter().find(|block| block["name"] == "echo").expect("the call");
    assert_eq!(
        serde_json::from_str::<Value>(echo["text"].as_str().expect("deltas")).expect("JSON"),
        json!({ "a": 1 })
    );

    // The conversation goes on from the blocks as they are.
    let messages = json!([
        { "role": "user", "content": "Go." },
        { "role": "assistant", "content": answer["content"] },
        { "role": "user", "content": "And?" },
    ]);
    let next = answered(server.address, MESSAGES, &body(&hostile(), &json!({ "messages": messages }))).await;
    assert_eq!(next["type"], "message");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_that_are_not_enabled_are_not_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = calls(&[("echo", json!({ "a": 1 }))]);
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules_then_done(&words))).await;
    let none = json!({ "default_config": { "enabled": false }, "configs": { "fail": { "enabled": true } } });
    let all_but = json!({ "configs": { "echo": { "enabled": false } } });
    for which in [none, all_but] {
        let answer = answered(server.address, MESSAGES, &body(&hostile(), &toolset(&which))).await;
        assert!(!kinds(&answer).contains(&"mcp_tool_use"), "{answer:#}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_cannot_be_used_are_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules_then_done("Hi."))).await;
    let message = async |body: &Value| {
        let answer = post(server.address, MESSAGES, body).await;
        (answer.status.as_u16(), answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    let unknown = json!({ "tools": [{ "type": "mcp_toolset", "mcp_server_name": "moon" }] });
    let (status, words) = message(&body(&hostile(), &unknown)).await;
    assert!(status == 400 && words.contains("no server in mcp_servers has the name moon"), "{words}");
    let gone = json!({ "type": "url", "name": "gone", "url": "http://127.0.0.1:9/mcp" });
    let (status, words) = message(&body(&gone, &json!({}))).await;
    assert!(status == 400 && words.contains("The tools of gone can't be listed"), "{status} {words}");
    // One that says nothing for a second, beside one that works.
    let silent = json!({ "type": "url", "name": "unlisted", "url": "https://unused.example" });
    for servers in [json!([hostile(), silent]), json!([silent, hostile()])] {
        let (status, words) = message(&body(&silent, &json!({ "mcp_servers": servers }))).await;
        assert!(status == 400 && words.contains("The tools of unlisted can't be listed"), "{status} {words}");
    }
    server.stop().await;
}
