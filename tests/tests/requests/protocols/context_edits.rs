//! What Messages leaves out of a long conversation, or summarises: what the model sees, and what its client is told.

use serde_json::{Value, json};
use tests::client::{answered, post};
use tests::server::{Setup, TestServer};

const MESSAGES: &str = "/v1/messages";
const COUNT: &str = "/v1/messages/count_tokens";
const SUMMARY: &str = "The user asked for the weather: SUNNY in Paris.";

async fn serve() -> (TestServer, tempfile::TempDir) {
    let rules = json!([
        { "when": { "last_user_contains": "write a summary of this conversation" }, "text": SUMMARY },
        { "when": { "last_user_contains": "In one line" }, "text": SUMMARY },
        { "when": { "last_user_contains": "SUNNY in Paris", "tool_results": 0 }, "text": "It sees the summary." },
        { "when": { "tool_results": 3 }, "text": "It sees three results." },
        { "text": "It sees the rest." },
    ]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(Setup::replay(folder.path(), &rules)).await;
    (server, folder)
}

/// A conversation with three calls and their long results.
fn conversation() -> Vec<Value> {
    let mut messages = vec![json!({ "role": "user", "content": "Weather?" })];
    for id in ["a", "b", "c"] {
        let call = json!({ "type": "tool_use", "id": id, "name": "look", "input": { "city": id } });
        let result =
            json!({ "type": "tool_result", "tool_use_id": id, "content": "Sun and rain. ".repeat(50) });
        messages.push(json!({ "role": "assistant", "content": [call] }));
        messages.push(json!({ "role": "user", "content": [result] }));
    }
    messages
}

fn body(messages: &[Value], edits: &Value) -> Value {
    json!({ "model": "qwen3-tiny", "max_tokens": 200, "messages": messages, "context_management": { "edits": edits } })
}

fn clearing(more: &Value) -> Value {
    let mut edit = json!({ "type": "clear_tool_uses_20250919" });
    edit.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    json!([edit])
}

async fn count(server: &TestServer, body: &Value) -> (u64, u64) {
    let mut body = body.clone();
    body.as_object_mut().expect("an object").remove("max_tokens");
    let counted = answered(server.address, COUNT, &body).await;
    let before = &counted["context_management"]["original_input_tokens"];
    (counted["input_tokens"].as_u64().expect("a number"), before.as_u64().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_results_are_left_out_and_the_answer_says_so() {
    let (server, _folder) = serve().await;
    let trigger = json!({ "type": "tool_uses", "value": 2 });
    let edits = clearing(&json!({ "trigger": trigger, "keep": { "type": "tool_uses", "value": 1 } }));
    let body = body(&conversation(), &edits);
    let (after, before) = count(&server, &body).await;
    assert!(after * 2 < before, "{after} of {before}");
    let answer = answered(server.address, MESSAGES, &body).await;
    let applied = json!([{
        "type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": before - after
    }]);
    assert_eq!(answer["context_management"]["applied_edits"], applied);
    assert_eq!(answer["usage"]["input_tokens"], after);
    // A stream says it at its end.
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    let events = post(server.address, MESSAGES, &streamed).await.events();
    let end = events.iter().find(|event| event["type"] == "message_delta").expect("an end");
    assert_eq!(end["context_management"]["applied_edits"], applied);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_out_below_the_trigger_or_for_too_little() {
    let (server, _folder) = serve().await;
    let (whole, _) = count(&server, &body(&conversation(), &json!([]))).await;
    let tokens = |value: u64| json!({ "type": "input_tokens", "value": value });
    let keep = json!({ "type": "tool_uses", "value": 0 });
    for (edit, cleared) in [
        (json!({}), 0),
        (json!({ "trigger": tokens(whole), "keep": keep }), 0),
        (json!({ "trigger": tokens(whole - 1), "keep": keep }), 3),
        (json!({ "trigger": tokens(1), "keep": keep, "clear_at_least": tokens(whole) }), 0),
        (json!({ "trigger": tokens(1), "keep": keep, "exclude_tools": ["look"] }), 0),
    ] {
        let answer = answered(server.address, MESSAGES, &body(&conversation(), &clearing(&edit))).await;
        let applied = answer["context_management"]["applied_edits"].as_array().expect("a list");
        let number = applied.first().map_or(0, |edit| edit["cleared_tool_uses"].as_u64().expect("a number"));
        assert_eq!(number, cleared, "{edit}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_conversation_is_summarised_and_goes_on_from_there() {
    let (server, _folder) = serve().await;
    let compact = |more: Value| {
        let mut edit =
            json!({ "type": "compact_20260112", "trigger": { "type": "input_tokens", "value": 50 } });
        edit.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!([edit])
    };
    let kinds = |answer: &Value| -> Vec<String> {
        let blocks = answer["content"].as_array().expect("blocks").iter();
        blocks.map(|block| block["type"].as_str().expect("a type").to_owned()).collect()
    };
    let first = answered(server.address, MESSAGES, &body(&conversation(), &compact(json!({})))).await;
    assert_eq!(
        (kinds(&first), &first["stop_reason"]),
        (vec!["compaction".to_owned(), "text".to_owned()], &json!("end_turn"))
    );
    assert_eq!(
        (&first["content"][0]["content"], &first["content"][1]["text"]),
        (&json!(SUMMARY), &json!("It sees the summary."))
    );

    // It may stop there, and be asked for in words of the client's.
    let paused = compact(json!({ "pause_after_compaction": true, "instructions": "In one line." }));
    let paused = answered(server.address, MESSAGES, &body(&conversation(), &paused)).await;
    assert_eq!(
        (kinds(&paused), &paused["stop_reason"]),
        (vec!["compaction".to_owned()], &json!("compaction"))
    );
    let mut asked = body(&conversation(), &json!([]));
    asked.as_object_mut().expect("an object").remove("context_management");
    (asked["compaction"], asked["stream"]) = (json!({ "type": "summarize" }), json!(true));
    let events = post(server.address, MESSAGES, &asked).await;
    let mut check = api::Protocol::Messages.check();
    check.feed(&events.body).and_then(|()| check.finish()).expect("the grammar");
    let events = events.events();
    let delta = events.iter().find(|event| event["type"] == "content_block_delta").expect("a delta");
    assert_eq!(delta["delta"], json!({ "type": "compaction_delta", "content": SUMMARY }));
    let end = events.iter().find(|event| event["type"] == "message_delta").expect("an end");
    assert_eq!(end["delta"]["stop_reason"], "compaction");

    // What comes of it is sent back as it is.
    let mut next = conversation();
    next.push(json!({ "role": "assistant", "content": paused["content"] }));
    let answer = answered(server.address, MESSAGES, &body(&next, &json!([]))).await;
    assert_eq!(answer["content"][0]["text"], "It sees the summary.");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_that_say_too_little_are_refused_by_name() {
    let (server, _folder) = serve().await;
    let trigger = |trigger: Value| json!([{ "type": "clear_tool_uses_20250919", "trigger": trigger }]);
    for (edits, words) in [
        (json!([{ "type": "forget_all" }]), "context_management.edits[0].type"),
        (trigger(json!({ "type": "moon" })), "context_management.edits[0].trigger.type: expected"),
        (trigger(json!({ "type": "tool_uses" })), "context_management.edits[0].trigger.value: missing"),
        (
            json!([{ "type": "clear_thinking_20251015", "keep": 3 }]),
            "context_management.edits[0].keep: expected an object",
        ),
    ] {
        let answer = post(server.address, MESSAGES, &body(&conversation(), &edits)).await;
        assert_eq!(answer.status.as_u16(), 400);
        let message = answer.json()["error"]["message"].as_str().expect("words").to_owned();
        assert!(message.contains(words), "{message}");
    }
    server.stop().await;
}
