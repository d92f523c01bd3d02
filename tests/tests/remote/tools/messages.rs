//! Tools that the server runs for Messages: their blocks, their way back into a conversation, and what is refused.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::client::{answered, post};
use tests::server::{Setup, TestServer};
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

/// A request that may search the web.
fn searching(more: &Value) -> Value {
    let tool = json!({ "type": "web_search_20250305", "name": "web_search" });
    let mut body = json!({
        "model": "qwen3-tiny", "max_tokens": 2000, "tools": [tool], "thinking": { "type": "adaptive" },
        "messages": [{ "role": "user", "content": "Go." }]
    });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

/// The tool was ignored, and the model told that it had searched.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_web_is_searched_and_what_was_found_comes_back_sealed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let found = json!([{ "url": "https://oslo.example", "title": "Oslo", "text": "It is wet in Oslo." }]);
    let words = calls(&[
        ("browser.open", json!({ "id": 1 })),
        ("browser.search", json!({ "query": "oslo", "results": found })),
    ]);
    let rules = json!([
        { "when": { "contains": "It is wet in Oslo." }, "text": "Wet." },
        { "when": { "last_user_contains": "Go." }, "text": words },
        { "text": "I know nothing." },
    ]);
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules)).await;
    let answer = answered(server.address, MESSAGES, &searching(&json!({}))).await;
    let blocks = answer["content"].as_array().expect("blocks");
    let of = |kind: &str| blocks.iter().find(|block| block["type"] == kind).unwrap_or(&Value::Null);
    let (search, outcome) = (of("server_tool_use"), of("web_search_tool_result"));
    assert_eq!((&search["name"], &search["input"]["query"]), (&json!("web_search"), &json!("oslo")));
    assert!(search["id"].as_str().expect("an id").starts_with("srvtoolu_"), "{search}");
    assert_eq!(outcome["tool_use_id"], search["id"]);
    let [result] = &outcome["content"].as_array().expect("results")[..] else { panic!("{outcome}") };
    assert_eq!(
        (&result["type"], &result["url"], &result["title"]),
        (&json!("web_search_result"), &json!("https://oslo.example"), &json!("Oslo"))
    );
    assert!(!outcome.to_string().contains("wet"), "what the model reads is sealed");
    // Pages that it opens are calls of the tool server.
    assert_eq!(of("mcp_tool_use")["name"], "open");
    assert_eq!((&of("text")["text"], &answer["stop_reason"]), (&json!("Wet."), &json!("end_turn")));
    assert_eq!(
        answer["usage"]["server_tool_use"],
        json!({ "web_search_requests": 1, "web_fetch_requests": 0 })
    );
    // Calls that run beside each other end in any order.
    let kinds = |blocks: &[Value]| -> BTreeSet<String> {
        blocks.iter().map(|block| block["type"].to_string()).collect()
    };
    assert_eq!(kinds(&streamed(&server, &searching(&json!({}))).await), kinds(blocks));
    // The next request has it back, and the model reads it.
    let mut said = json!([
        { "role": "user", "content": "So?" },
        { "role": "assistant", "content": [search, outcome] },
    ]);
    let next = answered(server.address, MESSAGES, &searching(&json!({ "messages": said }))).await;
    assert_eq!(next["content"][0]["text"], "Wet.");
    said[1]["content"][1]["content"][0]["encrypted_content"] = json!("of-another-server");
    let next = answered(server.address, MESSAGES, &searching(&json!({ "messages": said }))).await;
    assert_eq!(next["content"][0]["text"], "I know nothing.");
    server.stop().await;
}

/// It was ignored with a warning.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_is_demanded_is_made_first() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = setup(folder.path(), HOSTILE, &json!([]));
    setup.model = Setup::default().model;
    let server = TestServer::start(setup).await;
    let mine = json!({ "name": "mine", "input_schema": { "type": "object" } });
    let search = json!({ "type": "web_search_20260318", "name": "web_search", "max_uses": 1 });
    for seed in 0..4 {
        let more = json!({
            "tools": [mine, search], "tool_choice": { "type": "tool", "name": "web_search" }, "max_tokens": 300,
            "temperature": 1.0, "seed": seed
        });
        let answer = answered(server.address, MESSAGES, &searching(&more)).await;
        let first = kinds(&answer).into_iter().find(|kind| *kind != "thinking");
        assert_eq!(first, Some("server_tool_use"), "{answer:#}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_that_fail_or_are_too_many_have_the_codes_that_clients_know() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let search = |query: &str| ("browser.search", json!({ "query": query }));
    let words = calls(&[search("a"), search("b")]);
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules_then_done(&words))).await;
    let tool = json!({ "type": "web_search_20260209", "name": "web_search", "max_uses": 1 });
    let answer = answered(server.address, MESSAGES, &searching(&json!({ "tools": [tool] }))).await;
    let outcomes: Vec<&Value> = answer["content"].as_array().expect("blocks").iter().collect();
    let outcomes: Vec<&Value> =
        outcomes.into_iter().filter(|block| block["type"] == "web_search_tool_result").collect();
    let failed = json!({ "type": "web_search_tool_result_error", "error_code": "max_uses_exceeded" });
    assert_eq!(outcomes.iter().filter(|block| block["content"] == failed).count(), 1, "{answer:#}");
    assert_eq!(outcomes.iter().filter(|block| block["content"].is_array()).count(), 1, "{answer:#}");
    server.stop().await;
}

/// All of them run in one turn, but for those above the bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_searches_runs_as_many_as_the_request_allows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let search = ("browser.search", json!({ "query": "oslo" }));
    let mut setup = setup(folder.path(), HOSTILE, &rules_then_done(&calls(&vec![search; 200])));
    setup.model.context = Some(1 << 20);
    let server = TestServer::start(setup).await;
    let tool = json!({ "type": "web_search_20260209", "name": "web_search", "max_uses": 3 });
    let answer =
        answered(server.address, MESSAGES, &searching(&json!({ "tools": [tool], "max_tokens": 20000 })))
            .await;
    let outcomes: Vec<&Value> = answer["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .filter(|block| block["type"] == "web_search_tool_result")
        .map(|block| &block["content"])
        .collect();
    let (found, refused): (Vec<&Value>, Vec<&Value>) = outcomes.into_iter().partition(|one| one.is_array());
    assert_eq!((found.len(), refused.len()), (3, 197));
    assert!(refused.iter().all(|one| one["error_code"] == "max_uses_exceeded"));
    assert_eq!(kinds(&answer).last(), Some(&"text"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_for_a_search_alone_is_refused_where_nothing_searches() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(Setup::replay(folder.path(), &json!([{ "text": "Hi." }]))).await;
    for path in [MESSAGES, "/v1/messages/count_tokens"] {
        let refused = post(server.address, path, &searching(&json!({}))).await;
        let error = &refused.json()["error"];
        assert_eq!((refused.status.as_u16(), &error["type"]), (400, &json!("invalid_request_error")));
        assert!(error["message"].as_str().expect("text").contains("--mcp"), "{error}");
    }
    let other = json!({ "name": "f", "input_schema": { "type": "object" } });
    let search = json!({ "type": "web_search_20250305", "name": "web_search" });
    let answer = post(server.address, MESSAGES, &searching(&json!({ "tools": [search, other] }))).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["x-sluice-warning"], "tool of type web_search_20250305 ignored");
    server.stop().await;
}
