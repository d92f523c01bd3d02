//! `input` in every shape that clients are known to send, and the messages that come of it.

use serde_json::{Value, json};

use super::{job, refusal};
use crate::responses;
use prompt::{ChatMessage, Content, HistoryCall, Role};

fn messages(input: &Value) -> Vec<ChatMessage> {
    warned(input).0
}

fn warned(input: &Value) -> (Vec<ChatMessage>, Vec<String>) {
    let (job, warnings) = job(responses::read, &json!({ "model": "m", "input": input }));
    (job.conversation.messages, warnings)
}

fn refused(input: &Value) -> String {
    refusal(responses::read, &json!({ "model": "m", "input": input })).message
}

fn user(content: impl Into<Content>) -> ChatMessage {
    ChatMessage::text(Role::User, content)
}

fn assistant(
    reasoning: Option<&str>,
    content: impl Into<Content>,
    calls: &[(&str, &str, &str)],
) -> ChatMessage {
    let call = |(id, name, arguments): &(&str, &str, &str)| HistoryCall {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    ChatMessage {
        reasoning: reasoning.map(str::to_owned),
        tool_calls: calls.iter().map(call).collect(),
        ..ChatMessage::text(Role::Assistant, content)
    }
}

fn result(id: &str, name: Option<&str>, content: impl Into<Content>) -> ChatMessage {
    ChatMessage {
        tool_call_id: Some(id.to_owned()),
        name: name.map(str::to_owned),
        ..ChatMessage::text(Role::Tool, content)
    }
}

fn parts(parts: &[&str]) -> Content {
    parts.iter().collect()
}

#[test]
fn a_string_is_one_user_message() {
    assert_eq!(messages(&json!("hi")), [user("hi")]);
}

#[test]
fn messages_with_or_without_type_as_string_or_parts() {
    let input = json!([
        { "role": "developer", "content": "d" },
        { "type": "message", "role": "system", "content": [{ "type": "input_text", "text": "s" }] },
        { "role": "user", "content": [{ "type": "input_text", "text": "a" }, { "type": "input_text", "text": "b" }] },
        { "id": "msg_1", "type": "message", "role": "assistant",
          "content": [{ "type": "output_text", "text": "c", "annotations": [] }] },
        { "role": "user", "content": "d" },
    ]);
    let expected = [
        ChatMessage::text(Role::Developer, "d"),
        ChatMessage::text(Role::System, parts(&["s"])),
        user(parts(&["a", "b"])),
        assistant(None, parts(&["c"]), &[]),
        user("d"),
    ];
    assert_eq!(messages(&input), expected);
}

#[test]
fn instructions_come_first() {
    let body =
        json!({ "model": "m", "instructions": "Be kind.", "input": [{ "role": "user", "content": "x" }] });
    let messages = job(responses::read, &body).0.conversation.messages;
    assert_eq!(messages, [ChatMessage::text(Role::System, "Be kind."), user("x")]);
}

#[test]
fn what_the_assistant_did_in_a_row_is_one_message() {
    let input = json!([
        { "role": "user", "content": "q" },
        { "type": "reasoning", "id": "rs_1", "summary": [], "content": [{ "type": "reasoning_text", "text": "r" }] },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "t" }] },
        { "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}" },
        { "type": "function_call", "call_id": "c2", "name": "g", "arguments": "{\"x\":1}" },
        { "type": "function_call_output", "call_id": "c1", "output": "one" },
        { "type": "function_call_output", "call_id": "c2", "output": [{ "type": "input_text", "text": "two" }] },
    ]);
    let expected = [
        user("q"),
        assistant(Some("r"), parts(&["t"]), &[("c1", "f", "{}"), ("c2", "g", "{\"x\":1}")]),
        result("c1", Some("f"), "one"),
        result("c2", Some("g"), parts(&["two"])),
    ];
    assert_eq!(messages(&input), expected);
}

#[test]
fn order_that_one_message_cannot_show_makes_several() {
    let input = json!([
        { "role": "user", "content": "q" },
        { "type": "message", "role": "assistant", "content": "a" },
        { "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}" },
        { "type": "message", "role": "assistant", "content": "b" },
        { "type": "message", "role": "assistant", "content": "c" },
        { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "r" }] },
        { "type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}" },
    ]);
    let expected = [
        user("q"),
        assistant(None, "a", &[("c1", "f", "{}")]),
        assistant(None, "b", &[]),
        assistant(None, "c", &[]),
        assistant(Some("r"), "", &[("c2", "f", "{}")]),
    ];
    assert_eq!(messages(&input), expected);
}

#[test]
fn reasoning_comes_as_content_as_summary_or_neither() {
    let read = |reasoning: Value| {
        let input =
            json!([{ "role": "user", "content": "q" }, reasoning, { "role": "assistant", "content": "t" }]);
        messages(&input)[1].reasoning.clone()
    };
    let raw = json!({ "type": "reasoning", "content": [{ "type": "reasoning_text", "text": "r" }],
        "summary": [{ "type": "summary_text", "text": "s" }] });
    assert_eq!(read(raw).as_deref(), Some("r"));
    let summary = json!({ "type": "reasoning", "content": null,
        "summary": [{ "type": "summary_text", "text": "s" }, { "type": "summary_text", "text": "t" }] });
    assert_eq!(read(summary).as_deref(), Some("s\nt"));
    assert_eq!(read(json!({ "type": "reasoning" })), None);
}

#[test]
fn input_that_ends_in_bare_reasoning_is_answered_anew() {
    let reasoning =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [{ "type": "summary_text", "text": "s" }] });
    let (messages, warnings) = warned(&json!([{ "role": "user", "content": "q" }, reasoning]));
    assert_eq!(messages, [user("q")]);
    assert_eq!(warnings, ["reasoning at the end of the input without an answer left out"]);
}

#[test]
fn malformed_arguments_in_history_are_kept_unchanged() {
    let input = json!([
        { "role": "user", "content": "q" },
        { "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\": tru", "status": "incomplete" },
        { "type": "function_call_output", "call_id": "c1", "output": "failed to parse" },
    ]);
    assert_eq!(messages(&input)[1], assistant(None, "", &[("c1", "f", "{\"a\": tru")]));
}

#[test]
fn custom_calls_are_functions_with_one_string() {
    let input = json!([
        { "type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** \"x\"" },
        { "type": "custom_tool_call_output", "call_id": "c1", "output": "ok" },
    ]);
    let call = assistant(None, "", &[("c1", "apply_patch", r#"{"input":"*** \"x\""}"#)]);
    assert_eq!(messages(&input), [call, result("c1", Some("apply_patch"), "ok")]);
}

#[test]
fn calls_with_items_of_their_own_are_functions_and_their_results_texts() {
    let printed = |stdout: &str, stderr: &str, outcome: Value| json!({ "stdout": stdout, "stderr": stderr, "outcome": outcome });
    let found = json!([
        { "type": "function", "name": "send", "description": "Sends.", "parameters": {}, "defer_loading": true },
        { "type": "namespace", "name": "crm", "description": "", "tools": [{ "type": "function", "name": "list" }] },
    ]);
    let input = json!([
        { "type": "shell_call", "id": "sh_1", "call_id": "c1", "status": "completed", "environment": { "type": "local" },
          "action": { "commands": ["ls"], "timeout_ms": 5, "max_output_length": null } },
        { "type": "local_shell_call", "id": "lsh_1", "call_id": "c2", "action": { "type": "exec", "command": ["ls"], "env": {} } },
        { "type": "apply_patch_call", "call_id": "c3", "operation": { "type": "delete_file", "path": "a" } },
        { "type": "tool_search_call", "call_id": "c4", "execution": "client", "arguments": { "query": "mail" } },
        { "type": "shell_call_output", "call_id": "c1", "max_output_length": 9, "output": [
            printed("a\n", "", json!({ "type": "exit", "exit_code": 0 })), printed("", "no", json!({ "type": "timeout" })),
        ] },
        { "type": "local_shell_call_output", "id": "c2", "output": "a" },
        { "type": "apply_patch_call_output", "call_id": "c3", "status": "failed", "output": "no such file" },
        { "type": "tool_search_output", "call_id": "c4", "execution": "client", "tools": found },
    ]);
    let calls = assistant(
        None,
        "",
        &[
            ("c1", "shell", r#"{"commands":["ls"],"timeout_ms":5}"#),
            ("c2", "local_shell", r#"{"command":["ls"]}"#),
            ("c3", "apply_patch", r#"{"type":"delete_file","path":"a"}"#),
            ("c4", "tool_search", r#"{"query":"mail"}"#),
        ],
    );
    let tools = concat!(
        r#"{"type":"function","function":{"name":"send","description":"Sends.","parameters":{}}}"#,
        "\n",
        r#"{"type":"function","function":{"name":"crm__list"}}"#
    );
    let expected = [
        calls,
        result("c1", Some("shell"), "a\n\nexit code: 0\nstderr:\nno\ntimed out"),
        result("c2", Some("local_shell"), "a"),
        result("c3", Some("apply_patch"), "Error: no such file"),
        result("c4", Some("tool_search"), tools),
    ];
    assert_eq!(messages(&input), expected);
}

#[test]
fn items_that_say_nothing_are_skipped_and_unknown_ones_refused() {
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let question = json!({ "role": "user", "content": "q" });
    assert_eq!(warned(&json!([search, question])), (vec![user("q")], vec![]));
    let ghost = json!({ "type": "ghost_item", "payload": { "deep": [1] } });
    let expected = "input[1].type: nothing of the type ghost_item is known here: send what it says as text, or leave it out";
    assert_eq!(refused(&json!([question, ghost])), expected);
}

#[test]
fn results_without_a_known_call_are_refused() {
    let kinds = [
        "function_call_output",
        "custom_tool_call_output",
        "shell_call_output",
        "local_shell_call_output",
        "apply_patch_call_output",
        "tool_search_output",
    ];
    for kind in kinds {
        let late =
            json!([{ "type": kind, "call_id": "c9", "output": "late", "status": "completed", "tools": [] }]);
        assert!(refused(&late).starts_with("input[0].call_id: no call with this id"), "{}", refused(&late));
    }
}

#[test]
fn an_item_of_one_id_is_read_once() {
    let named = |id: &str| json!({ "type": "message", "id": id, "role": "user", "content": "q" });
    assert_eq!(messages(&json!([named("a"), named("b"), named(""), named("")])).len(), 4);
    let error =
        refusal(responses::read, &json!({ "model": "m", "input": [named("a"), named("b"), named("a")] }));
    assert_eq!((error.status, error.param.as_deref()), (400, Some("input")));
    assert!(error.message.starts_with("Duplicate item found with id a:"), "{error}");
}

#[test]
fn wrong_types_are_refused_with_their_path() {
    let content = json!([{ "role": "user", "content": "a" }, { "role": "user", "content": 5 }]);
    assert_eq!(refused(&content), "input[1].content: expected a string or a list of parts, got number");
    assert_eq!(refused(&json!(7)), "input: expected a string or a list of items, got number");
    assert_eq!(refused(&json!(["x"])), "input[0]: expected an object, got string");
    assert_eq!(refused(&json!([])), "input: there is no message in it to answer");
    assert_eq!(
        refused(&json!([{ "role": "wizard", "content": "x" }])),
        "input[0].role: expected user, assistant, system or developer"
    );
    assert_eq!(
        refused(&json!([{ "role": "user" }])),
        "input[0].content: missing: expected a string or a list of parts"
    );
    let part = json!([{ "role": "user", "content": [{ "type": "input_text", "text": [] }] }]);
    assert_eq!(refused(&part), "input[0].content[0].text: expected a string, got list");
    let call = json!([{ "type": "function_call", "call_id": "c", "name": "f", "arguments": 3 }]);
    assert_eq!(refused(&call), "input[0].arguments: expected a string of JSON, got number");
    let neither = json!([{ "content": "x" }]);
    assert_eq!(refused(&neither), "input[0]: expected an item with a `type`, or a message with a `role`");
}
