//! Whole answers to fixed turns, compared byte for byte with files in `testdata`. `UPDATE_EXPECT=1`
//! rewrites the files; read the difference afterwards.

use std::path::Path;

use serde_json::{Value, json};

use super::{Item, Turn, call, cut, give_logprobs, machine, message, reasoning};
use crate::event_buffer::EventBuffer;
use crate::request::ReadRequest;
use crate::{chat, responses};
use contract::Payload;
use model::{RawText, RawTurn};
use turn::{ItemHead, Phase, TurnEnd, TurnFailure};

fn responses_request(extra: &Value) -> Value {
    let mut body = json!({
        "model": "qwen3-tiny", "input": "Weather in Paris and Rome?", "instructions": "Be brief.", "stream": true,
        "stream_options": { "include_obfuscation": false },
        "tools": [{ "type": "function", "name": "get_weather", "parameters": { "type": "object" } }]
    });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn chat_request() -> Value {
    json!({
        "model": "qwen3-tiny", "messages": [{ "role": "user", "content": "Weather?" }], "stream": true,
        "stream_options": { "include_usage": true }
    })
}

/// Items of a turn: reasoning, text, call, text, call.
pub(super) fn long_turn() -> Vec<Item> {
    vec![
        reasoning(&["Two ", "cities.\n"]),
        message(Phase::Commentary, &["I'll look", " both up: \"é🌍\"."]),
        call("call_a", "get_weather", &["{\"city\":", " \"Paris\"}"]),
        message(Phase::Unspecified, &["Next."]),
        call("call_b", "get_weather", &["{\"city\": \"Rome\"}"]),
    ]
}

pub(super) fn truncated_turn() -> Vec<Item> {
    vec![reasoning(&["Short."]), cut(message(Phase::Final, &["It is su"]))]
}

pub(super) fn failed_turn() -> Vec<Item> {
    vec![cut(call("call_a", "get_weather", &["{\"ci"]))]
}

pub(super) fn failure() -> TurnEnd {
    TurnEnd::Failed(TurnFailure {
        code: "model_error",
        message: "Parser qwen3 failed: it gave up.".to_owned(),
    })
}

pub(super) fn compare(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testdata").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, got).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(got, expected, "{name} differs (UPDATE_EXPECT=1 rewrites it)");
}

fn golden(name: &str, read: ReadRequest, body: &Value, items: Vec<Item>, end: TurnEnd) -> String {
    compare_turn(name, read, body, &Turn::new(items, end))
}

/// Compares stream and body with the files `NAME.sse` and `NAME.json`, and returns the stream.
fn compare_turn(name: &str, read: ReadRequest, body: &Value, turn: &Turn) -> String {
    let (stream, status, json) = turn.run(&mut *machine(read, body), EventBuffer::new(), 3);
    compare(&format!("{name}.sse"), &stream);
    compare(&format!("{name}.json"), &format!("{status}\n{json:#}\n"));
    let (silent, silent_status, silent_json) =
        turn.run(&mut *machine(read, body), EventBuffer::discarding(), 3);
    assert_eq!((silent.as_str(), silent_status, silent_json), ("", status, json));
    stream
}

fn responses_golden(name: &str, extra: &Value, items: Vec<Item>, end: TurnEnd) {
    let body = responses_request(extra);
    let stream = golden(&format!("responses-{name}"), responses::read, &body, items, end);
    responses::validator::check_sse(stream.as_bytes())
        .unwrap_or_else(|violation| panic!("{violation}\n{stream}"));
}

fn chat_golden(name: &str, items: Vec<Item>, end: TurnEnd) {
    let stream = golden(&format!("chat-{name}"), chat::read, &chat_request(), items, end);
    chat::validator::check_sse(stream.as_bytes()).unwrap_or_else(|what| panic!("{what}\n{stream}"));
}

#[test]
fn responses_reasoning_text_and_tools_in_turn() {
    responses_golden("long", &json!({}), long_turn(), TurnEnd::Completed);
}

#[test]
fn responses_reasoning_as_summary_when_asked_for() {
    let extra =
        json!({ "reasoning": { "effort": "low", "summary": "auto" }, "store": true, "temperature": 0.7 });
    responses_golden("summary", &extra, long_turn(), TurnEnd::Completed);
}

#[test]
fn responses_cut_off_by_the_token_limit() {
    let extra = json!({ "max_output_tokens": 7 });
    responses_golden("truncated", &extra, truncated_turn(), TurnEnd::MaxOutputTokens);
}

#[test]
fn responses_failed_in_a_call() {
    responses_golden("failed", &json!({}), failed_turn(), failure());
}

#[test]
fn responses_cancelled() {
    responses_golden("cancelled", &json!({}), truncated_turn(), TurnEnd::Cancelled);
}

#[test]
fn responses_that_say_nothing() {
    responses_golden("empty", &json!({}), vec![], TurnEnd::Completed);
}

fn text_call(id: &str, name: &str, texts: &[&str]) -> Item {
    let head = ItemHead::ToolCall { call_id: id.to_owned(), name: name.to_owned(), payload: Payload::Text };
    super::item(head, texts)
}

#[test]
fn responses_with_a_custom_tool() {
    let grammar = json!({ "type": "grammar", "syntax": "lark", "definition": "start: LINE" });
    let tools =
        json!([{ "type": "custom", "name": "apply_patch", "description": "Edits.", "format": grammar }]);
    let call = text_call("call_c", "apply_patch", &["*** Begin", " Patch\n"]);
    responses_golden("custom", &json!({ "tools": tools }), vec![call], TurnEnd::Completed);
}

#[test]
fn responses_with_tools_that_have_items_of_their_own() {
    let tools = json!([
        { "type": "shell", "environment": { "type": "local" } }, { "type": "local_shell" },
        { "type": "apply_patch" }, { "type": "tool_search", "execution": "client" },
    ]);
    let items = vec![
        call("call_a", "shell", &[r#"{"commands": ["ls "#, r#"-l", "pwd"], "timeout_ms": 1000}"#]),
        call("call_b", "local_shell", &[r#"{"command": ["ls"], "env": {"A": "b"}}"#]),
        call(
            "call_c",
            "apply_patch",
            &[r#"{"type": "update_file", "path": "a.rs", "diff": "@@\n-a\n+b\n"}"#],
        ),
        call("call_d", "tool_search", &[r#"{"query": "mail"}"#]),
        // What isn't what the tool takes comes as the model wrote it.
        call("call_e", "shell", &[r#"{"commands": "#, r#"[], "why": 1}"#]),
    ];
    responses_golden("typed", &json!({ "tools": tools }), items, TurnEnd::Completed);
}

#[test]
fn responses_with_tools_in_namespaces() {
    let tools = json!([{ "type": "namespace", "name": "files", "description": "Files.", "tools": [
        { "type": "function", "name": "read", "parameters": { "type": "object" } }, { "type": "custom", "name": "patch" },
    ] }, { "type": "function", "name": "read" }]);
    let items = vec![
        call("call_a", "files__read", &["{}"]),
        call("call_b", "read", &["{}"]),
        text_call("call_c", "files__patch", &["***"]),
    ];
    responses_golden("namespaces", &json!({ "tools": tools }), items, TurnEnd::Completed);
}

#[test]
fn responses_with_messages_of_all_phases_around_calls() {
    let items = vec![
        message(Phase::Commentary, &["First."]),
        text_call("call_a", "apply_patch", &["***"]),
        message(Phase::Commentary, &["Then."]),
        reasoning(&["Hm."]),
        message(Phase::Final, &["Done", "."]),
        message(Phase::Unspecified, &["P.S."]),
    ];
    responses_golden("phases", &json!({ "parallel_tool_calls": false }), items, TurnEnd::Completed);
}

#[test]
fn responses_with_log_probabilities() {
    let extra = json!({ "include": ["message.output_text.logprobs"], "top_logprobs": 2 });
    let mut turn = Turn::new(vec![message(Phase::Unspecified, &["Hi", " 🌍"])], TurnEnd::Completed);
    give_logprobs(&mut turn);
    let body = responses_request(&extra);
    let stream = compare_turn("responses-logprobs", responses::read, &body, &turn);
    responses::validator::check_sse(stream.as_bytes()).unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn responses_with_padded_deltas() {
    let extra = json!({ "stream_options": { "include_obfuscation": true } });
    responses_golden("obfuscated", &extra, long_turn(), TurnEnd::Completed);
}

#[test]
fn responses_with_the_turns_own_tokens() {
    let raw = |text: &str, tokens: &[u32]| RawText { text: text.to_owned(), tokens: tokens.to_vec() };
    let mut turn = Turn::new(truncated_turn(), TurnEnd::MaxOutputTokens);
    turn.raw = Some(RawTurn { input: raw("<|user|>?", &[1, 7]), output: raw("<think>Short.", &[2, 8, 9]) });
    let body = responses_request(&json!({ "enable_response_messages": true }));
    let stream = compare_turn("responses-raw", responses::read, &body, &turn);
    responses::validator::check_sse(stream.as_bytes()).unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn chat_reasoning_text_and_tools_in_turn() {
    chat_golden("long", long_turn(), TurnEnd::Completed);
}

#[test]
fn chat_cut_off_by_the_token_limit() {
    chat_golden("truncated", truncated_turn(), TurnEnd::MaxOutputTokens);
}

#[test]
fn chat_failed_in_a_call() {
    chat_golden("failed", failed_turn(), failure());
}

#[test]
fn chat_that_says_nothing() {
    chat_golden("empty", vec![], TurnEnd::Completed);
}
