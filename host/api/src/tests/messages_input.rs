//! Conversations of Messages requests in all shapes, and the messages that come of them.

use serde_json::{Value, json};

use super::messages_requests::with;
use super::{job, sign};
use crate::messages;
use prompt::{ChatMessage, Content, HistoryCall, Role};

fn read(messages: &Value) -> (Vec<ChatMessage>, Vec<String>) {
    let (job, warnings) = job(messages::read, &with(&json!({ "messages": messages })));
    (job.conversation.messages, warnings)
}

fn user(content: impl Into<Content>) -> ChatMessage {
    ChatMessage::text(Role::User, content)
}

fn assistant(reasoning: Option<&str>, content: impl Into<Content>, calls: &[(&str, &str)]) -> ChatMessage {
    let call = |(id, arguments): &(&str, &str)| HistoryCall {
        id: (*id).to_owned(),
        name: "f".to_owned(),
        arguments: (*arguments).to_owned(),
    };
    ChatMessage {
        reasoning: reasoning.map(str::to_owned),
        tool_calls: calls.iter().map(call).collect(),
        ..ChatMessage::text(Role::Assistant, content)
    }
}

fn result(id: &str, content: impl Into<Content>) -> ChatMessage {
    ChatMessage {
        tool_call_id: Some(id.to_owned()),
        name: Some("f".to_owned()),
        ..ChatMessage::text(Role::Tool, content)
    }
}

fn parts(parts: &[&str]) -> Content {
    parts.iter().collect()
}

fn tool_use(id: &str, input: &Value) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "f", "input": input, "cache_control": { "type": "ephemeral" } })
}

#[test]
fn a_conversation_with_tools_keeps_its_order() {
    let thinking = json!({ "type": "thinking", "thinking": "r", "signature": sign("r") });
    let given = json!([
        { "role": "user", "content": "q" },
        { "role": "assistant", "content": [thinking, { "type": "text", "text": "t" }, tool_use("c1", &json!({ "a": 1 })), tool_use("c2", &json!({}))] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "c1", "content": "one" },
            { "type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": [{ "type": "text", "text": "no" }, { "type": "image", "source": {} }] },
            { "type": "tool_result", "tool_use_id": "c2" },
            { "type": "text", "text": "and" }, { "type": "text", "text": "now?" } ] },
        { "role": "assistant", "content": "done" },
        { "role": "user", "content": [{ "type": "text", "text": "why" }, { "type": "tool_result", "tool_use_id": "c1", "content": "late" }] },
    ]);
    let expected = [
        user("q"),
        assistant(Some("r"), parts(&["t"]), &[("c1", "{\"a\":1}"), ("c2", "{}")]),
        result("c1", "one"),
        result("c2", parts(&["Error: no", "[image]"])),
        result("c2", ""),
        user(parts(&["and", "now?"])),
        assistant(None, "done", &[]),
        user(parts(&["why"])),
        result("c1", "late"),
    ];
    let warnings = vec!["images cannot be read by this model: shown to it as [image]".to_owned()];
    assert_eq!(read(&given), (expected.into(), warnings));
}

#[test]
fn text_between_calls_begins_a_message_of_its_own() {
    let blocks = json!([
        { "type": "text", "text": "a" }, { "type": "text", "text": "b" }, tool_use("c1", &json!({})),
        { "type": "text", "text": "c" }, { "type": "thinking", "thinking": "r", "signature": sign("r") }, tool_use("c2", &json!({})),
    ]);
    let expected = [
        user("q"),
        assistant(None, parts(&["a", "b"]), &[("c1", "{}")]),
        assistant(None, parts(&["c"]), &[]),
        assistant(Some("r"), "", &[("c2", "{}")]),
        user("x"),
    ];
    let given = json!([{ "role": "user", "content": "q" }, { "role": "assistant", "content": blocks }, { "role": "user", "content": "x" }]);
    assert_eq!(read(&given), (expected.into(), vec![]));
}

#[test]
fn instructions_lead_merged_or_stay_where_they_stand() {
    let body = with(&json!({
        "system": [{ "type": "text", "text": "a", "cache_control": { "type": "ephemeral", "ttl": "1h" } }, { "type": "text", "text": "b" }],
        "messages": [
            { "role": "system", "content": [{ "type": "text", "text": "c" }] },
            { "role": "user", "content": "x" },
            { "role": "system", "content": "d" },
        ],
    }));
    let expected =
        [ChatMessage::text(Role::System, "a\nb\n\nc"), user("x"), ChatMessage::text(Role::System, "d")];
    assert_eq!(job(messages::read, &body).0.conversation.messages, expected);
    let two = json!([{ "type": "text", "text": "s" }, { "type": "text", "text": "" }, { "type": "text", "text": "t" }]);
    for (system, read) in [(json!("s"), Content::from("s")), (two, parts(&["s", "t"]))] {
        let body = with(&json!({ "system": system }));
        let messages = job(messages::read, &body).0.conversation.messages;
        assert_eq!(messages, [ChatMessage::text(Role::System, read), user("x")]);
    }
}

#[test]
fn claude_codes_accounting_stays_out_of_the_prompt() {
    let line = "x-anthropic-billing-header: cc_version=2; cch=1a2b3;";
    for (system, read) in [
        (
            json!([{ "type": "text", "text": line }, { "type": "text", "text": "You are." }]),
            parts(&["You are."]),
        ),
        (json!(format!("{line}\nYou are.")), "You are.".into()),
    ] {
        let messages = job(messages::read, &with(&json!({ "system": system }))).0.conversation.messages;
        assert_eq!(messages, [ChatMessage::text(Role::System, read), user("x")]);
    }
    let quoted = format!("What is {line}?");
    assert_eq!(read(&json!([{ "role": "user", "content": quoted }])).0, [user(quoted.as_str())]);
}

#[test]
fn thinking_is_taken_whoever_signed_it_and_said_so() {
    let turn = |thinking: Value| json!([{ "role": "user", "content": "q" }, { "role": "assistant", "content": [thinking, { "type": "text", "text": "t" }] }]);
    let expected = vec![user("q"), assistant(Some("r"), parts(&["t"]), &[])];
    let unsigned = "thinking that this server did not sign was taken as it is".to_owned();
    for (signature, warnings) in [
        (json!(sign("r")), vec![]),
        (json!(sign("s")), vec![unsigned.clone()]),
        (json!("EqQBCkYIBRgCKkBx"), vec![unsigned.clone()]),
        (Value::Null, vec![unsigned]),
    ] {
        let thinking = json!({ "type": "thinking", "thinking": "r", "signature": signature });
        assert_eq!(read(&turn(thinking)), (expected.clone(), warnings));
    }
    let redacted = json!({ "type": "redacted_thinking", "data": "xyz" });
    let warnings = vec!["redacted_thinking ignored: this server cannot read it".to_owned()];
    assert_eq!(read(&turn(redacted)), (vec![user("q"), assistant(None, parts(&["t"]), &[])], warnings));
}

#[test]
fn thinking_that_led_to_nothing_is_left_out() {
    let thinking = json!({ "type": "thinking", "thinking": "r", "signature": sign("r") });
    let given = json!([{ "role": "user", "content": "q" }, { "role": "assistant", "content": [thinking] }]);
    assert_eq!(read(&given).0, [user("q")]);
}

#[test]
fn names_of_tools_that_were_searched_are_shown() {
    let found = json!([{ "type": "tool_reference", "tool_name": "Edit" }, { "type": "tool_reference", "tool_name": "Read" }]);
    let given = json!([
        { "role": "assistant", "content": [tool_use("c1", &json!({}))] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": found }] },
    ]);
    let expected = vec![assistant(None, "", &[("c1", "{}")]), result("c1", parts(&["Edit", "Read"]))];
    assert_eq!(read(&given), (expected, vec![]));
}
