//! Boundaries at which a steered response ends, and what its successor goes on from.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp::{Endpoint, UrlEndpoint};
use serde_json::{Value, json};
use tests::server::TestServer;
use tests::socket::{Socket, text};
use tests::tool_server_http::HttpToolServer;
use tests::tools::{calls, setup_with_time_limit, types};

use super::*;
use crate::sockets::engine::{Gated, Scripted};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_reasoning_has_its_successor_stored_or_not() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for store in [true, false] {
        let fields = json!({ "input": "ponder", "store": store, "stream_id": "a", "metadata": { "k": "v" } });
        let parent =
            asked_and_steered(&mut socket, fields, "response.reasoning_text.delta", json!("Hi")).await;
        let (steered, next) = succeeded(&mut socket, &parent).await;
        assert_eq!(
            (&steered["output"][0]["type"], &steered["output"][0]["status"]),
            (&json!("reasoning"), &json!("incomplete"))
        );
        assert_eq!(text(&next), "Hello!");
        assert_eq!((&next["store"], &next["metadata"]), (&json!(store), &steered["metadata"]));
        let more =
            json!({ "input": "beta", "store": store, "stream_id": "a", "previous_response_id": next["id"] });
        assert_eq!(text(&socket.answer(more).await), "beta beta beta");
        if store {
            let items = input_items(&server, &next).await;
            let kinds: Vec<_> = items.iter().map(|item| &item["type"]).collect();
            assert_eq!(kinds, ["message", "reasoning", "message"]);
            assert_eq!(items[2]["content"][0]["text"], "Hi");
        }
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_ends_before_its_first_item() {
    let gated = Gated::answering("", "").await;
    let mut socket = Socket::open(gated.server.address).await;
    let fields = json!({ "input": "Hi" });
    let parent = asked_and_steered(&mut socket, fields, "response.in_progress", json!("Bye")).await;
    gated.gate.add_permits(2);
    let (steered, next) = succeeded(&mut socket, &parent).await;
    assert_eq!((&steered["output"], text(&next)), (&json!([]), "Hello!".to_owned()));
    drop(socket);
    gated.server.stop().await;
}

/// The rest of the message, a call behind it and the end come in one step of the engine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_ended_before_the_call_behind_it() {
    let gated = Gated::answering(
        "I will look",
        " it up now, wait.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_call>",
    )
    .await;
    let mut socket = Socket::open(gated.server.address).await;
    let fields = json!({ "input": "Hi", "tools": weather() });
    let input = json!([{ "role": "user", "content": [{ "type": "input_text", "text": "alpha" }] }]);
    let parent = asked_and_steered(&mut socket, fields, "response.output_text.delta", input).await;
    gated.gate.add_permits(2);
    let (steered, next) = succeeded(&mut socket, &parent).await;
    assert_eq!(types(&steered), ["message"]);
    assert_eq!(steered["output"][0]["status"], "completed");
    assert_eq!(text(&steered), "I will look it up now, wait.");
    assert_eq!((text(&next), &next["tools"]), ("Hello!".to_owned(), &steered["tools"]));
    let items = input_items(&gated.server, &next).await;
    assert_eq!((items.len(), &items[2]["content"][0]["text"]), (3, &json!("alpha")));
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_waits_for_its_result_behind_the_steered_input() {
    let gated = Gated::calling().await;
    let mut socket = Socket::open(gated.server.address).await;
    let fields = json!({ "input": "Hi", "tools": weather() });
    let kind = "response.function_call_arguments.delta";
    let parent = asked_and_steered(&mut socket, fields, kind, json!("In Celsius")).await;
    gated.gate.add_permits(2);
    let completed = until(&mut socket, "response.completed").await["response"].clone();
    let pending = socket.event().await;
    assert_eq!(
        (&pending["type"], &pending["reason"]),
        (&json!("response.steer.pending"), &json!("waiting_for_required_input"))
    );
    let mut required = pending["required_input"][0].clone();
    let call_id = &completed["output"][0]["call_id"];
    assert_eq!(
        required,
        json!({ "type": "function_call_output", "call_id": call_id, "name": "get_weather" })
    );
    refused(&mut socket, &steer(&parent, json!("Hi")), "response_already_completed").await;
    required["output"] = json!("sunny");
    let fields = json!({ "input": [required], "previous_response_id": parent, "tools": weather() });
    let next = socket.answer(fields).await;
    let items = input_items(&gated.server, &next).await;
    let last = &items[items.len() - 2..];
    assert_eq!(
        (&last[0]["content"][0]["text"], &last[1]["type"]),
        (&json!("In Celsius"), &json!("function_call_output"))
    );
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_ending_the_answer_precedes_input_in_order() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    let fields = json!({ "input": "Hi", "stream_id": "b" });
    let parent = asked_and_steered(&mut socket, fields, "response.output_text.delta", json!("0")).await;
    for number in 1..8 {
        accepted(&mut socket, &parent, json!(number.to_string())).await;
    }
    refused(&mut socket, &steer(&parent, json!("8")), "too_many_pending_steers").await;
    gated.gate.add_permits(2);
    assert_eq!(until(&mut socket, "response.completed").await["response"]["id"], parent);
    let created = until(&mut socket, "response.created").await;
    assert_eq!((&created["response"]["previous_response_id"], &created["stream_id"]), (&parent, &json!("b")));
    until(&mut socket, "response.completed").await;
    let items = input_items(&gated.server, &created["response"]).await;
    let texts: Vec<_> = items[2..].iter().map(|item| item["content"][0]["text"].clone()).collect();
    assert_eq!(texts, (0..8).map(|number| json!(number.to_string())).collect::<Vec<_>>());
    drop(socket);
    gated.server.stop().await;
}

/// The tool answers when it is called a second time, by a response of another lane.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_the_server_runs_is_ended_first() {
    let rules = json!([
        { "when": { "last_role": "user", "last_user_contains": "meet" }, "text": calls(&[("meet", json!({}))]) },
        { "when": { "last_role": "tool" }, "text": "Done." },
        { "text": "Hello!" },
    ]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let meeting = HttpToolServer::start(([127, 0, 0, 1], 0).into()).await;
    let more = vec![("meeting", Endpoint::Url(UrlEndpoint::new(meeting.url())))];
    let program = env!("CARGO_BIN_EXE_hostile-mcp");
    let setup = setup_with_time_limit(folder.path(), program, &rules, more, Duration::from_mins(1));
    let server = TestServer::start(setup).await;
    let mut socket = Socket::open(server.address).await;
    let tools = json!([{ "type": "mcp", "server_label": "meeting", "require_approval": "never" }]);
    let fields = |lane: &str| json!({ "input": "meet", "tools": tools, "stream_id": lane });
    let parent =
        asked_and_steered(&mut socket, fields("a"), "response.mcp_call_arguments.done", json!("Hi")).await;
    socket.create(fields("b")).await;
    let mut ended: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    while ended.values().map(Vec::len).sum::<usize>() < 3 {
        let event = socket.event().await;
        assert_ne!(event["type"], "error", "{event}");
        if event["type"].as_str().is_some_and(|kind| LAST.contains(&kind)) {
            let lane = event["stream_id"].as_str().expect("a lane").to_owned();
            ended.entry(lane).or_default().push(event["response"].clone());
        }
    }
    let [steered, next] = &ended["a"][..] else { panic!("a successor: {ended:?}") };
    assert_eq!((&steered["id"], &steered["incomplete_details"]["reason"]), (&parent, &json!("steered")));
    let called = steered["output"].as_array().and_then(|output| output.last()).expect("a call");
    assert_eq!((&called["type"], &called["output"]), (&json!("mcp_call"), &json!("met")));
    assert_eq!((&next["previous_response_id"], text(next)), (&parent, "Hello!".to_owned()));
    assert_eq!(text(&ended["b"][0]), "Done.");
    drop(socket);
    server.stop().await;
}
