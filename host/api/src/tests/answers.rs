//! Effects of a request's options on the answer, and of an answer's items on the next request.

use serde_json::{Value, json};

use super::{Turn, call, item, message, read, reasoning, refusal};
use crate::event_buffer::EventBuffer;
use crate::ids::Clock;
use crate::obfuscation::encoded_len;
use crate::request::{ApiRequest, Defaults};
use crate::seal::Seal;
use crate::{responses, sse};
use contract::Payload;
use prompt::ChatMessage;
use turn::{ItemHead, Phase, TurnEnd};

fn ask(extra: &Value, defaults: &Defaults) -> ApiRequest {
    let mut body = json!({ "model": "m", "input": "x" });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    read(responses::read, body.to_string().as_bytes(), defaults, &Clock::at(0))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The checked events of an answer to a request with the fields `extra`, and its body.
fn answer(extra: &Value, turn: &Turn, defaults: &Defaults) -> (Vec<Value>, Value) {
    let (stream, _, body) = turn.run(&mut *ask(extra, defaults).machine, EventBuffer::new(), usize::MAX);
    responses::validator::check_sse(stream.as_bytes()).unwrap_or_else(|violation| panic!("{violation}"));
    let events = sse::events(stream.as_bytes()).unwrap();
    let events = events.iter().filter(|event| event.data != "[DONE]");
    (events.map(|event| serde_json::from_str(event.data).unwrap()).collect(), body)
}

/// The messages made of an input, or code and message of the refusal.
fn messages(input: &Value, defaults: &Defaults) -> Result<Vec<ChatMessage>, (String, String)> {
    let body = json!({ "model": "m", "input": input }).to_string();
    match read(responses::read, body.as_bytes(), defaults, &Clock::at(0)) {
        Ok(call) => Ok(call.job.conversation.messages),
        Err(error) => Err((error.code.unwrap_or_default().to_owned(), error.message)),
    }
}

fn sealed(extra: &Value, defaults: &Defaults) -> Value {
    let turn = Turn::new(
        vec![reasoning(&["Two ", "🌍s."]), message(Phase::Unspecified, &["Hi."])],
        TurnEnd::Completed,
    );
    let mut extra = extra.clone();
    extra["include"] = json!(["reasoning.encrypted_content"]);
    answer(&extra, &turn, defaults).1["output"][0].clone()
}

/// The reasoning that the model sees if a request sends `item` back, or the refusal.
fn sent_back(item: &Value, defaults: &Defaults) -> Result<Option<String>, (String, String)> {
    let input = json!([{ "role": "user", "content": "q" }, item, { "role": "assistant", "content": "Hi." },
        { "role": "user", "content": "?" }]);
    messages(&input, defaults).map(|messages| messages[1].reasoning.clone())
}

#[test]
fn encrypted_reasoning_is_restored_even_without_text() {
    let defaults = Defaults::default();
    for dialect in [json!({}), json!({ "reasoning": { "summary": "auto" } })] {
        let item = sealed(&dialect, &defaults);
        assert_eq!(sent_back(&item, &defaults), Ok(Some("Two 🌍s.".to_owned())));
        let bare =
            json!({ "type": "reasoning", "summary": [], "encrypted_content": item["encrypted_content"] });
        assert_eq!(sent_back(&bare, &defaults), Ok(Some("Two 🌍s.".to_owned())));
    }
}

#[test]
fn sealed_reasoning_counts_not_the_clients_text() {
    let defaults = Defaults::default();
    let mut item = sealed(&json!({}), &defaults);
    item["content"][0]["text"] = json!("Three.");
    assert_eq!(sent_back(&item, &defaults), Ok(Some("Two 🌍s.".to_owned())));
}

#[test]
fn encrypted_reasoning_is_there_only_where_asked_for() {
    let turn = Turn::new(vec![reasoning(&["r"])], TurnEnd::Completed);
    let (events, body) = answer(&json!({}), &turn, &Defaults::default());
    assert!(body["output"][0].get("encrypted_content").is_none());
    assert!(events.iter().all(|event| !event.to_string().contains("encrypted_content")));
}

#[test]
fn foreign_or_tampered_reasoning_is_refused_by_place() {
    let defaults = Defaults::default();
    let item = sealed(&json!({}), &defaults);
    let with = |text: &str| json!({ "type": "reasoning", "summary": [], "encrypted_content": text });
    let text = item["encrypted_content"].as_str().unwrap();
    let tampered = format!("{}{}", &text[..text.len() - 8], "AAAAAAAA");
    let other = Defaults { seal: Seal::random(), ..defaults.clone() };
    for (item, defaults, why) in [
        (with("gAAAAABoISQ24OyV"), &defaults, "it was not made by this server, or it was cut"),
        (with(&text[..20]), &defaults, "it was not made by this server, or it was cut"),
        (with(&tampered), &defaults, "it was changed after this server made it"),
        (item, &other, "it was made with another key"),
    ] {
        let (code, message) = sent_back(&item, defaults).unwrap_err();
        assert_eq!(code, "invalid_encrypted_content");
        assert!(message.starts_with("input[1].encrypted_content: it can't be used: "), "{message}");
        assert!(message.contains(why), "{message}");
    }
}

fn namespaced() -> Value {
    json!({ "tools": [
        { "type": "namespace", "name": "mcp__files", "description": "Files.", "tools": [
            { "type": "function", "name": "read", "description": "reads", "parameters": { "type": "object" } },
            { "type": "custom", "name": "patch" }, { "type": "web_search" } ] },
        { "type": "function", "name": "read" },
    ] })
}

#[test]
fn model_sees_flat_names_and_clients_their_own() {
    let ApiRequest { job, warnings, .. } = ask(&namespaced(), &Defaults::default());
    let names: Vec<&str> = job.demand.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["mcp__files__read", "mcp__files__patch", "read"]);
    assert_eq!(warnings, ["tool of type web_search ignored"]);
    let shown: Value = serde_json::from_str(&job.conversation.tools[0].declaration).unwrap();
    let shown = &shown["function"];
    assert_eq!((&shown["name"], &shown["description"]), (&json!("mcp__files__read"), &json!("reads")));

    let (call_id, name) = ("c2".to_owned(), "mcp__files__patch".to_owned());
    let custom = item(ItemHead::ToolCall { call_id, name, payload: Payload::Text }, &["***"]);
    let items = vec![call("c1", "mcp__files__read", &["{}"]), custom, call("c3", "read", &["{}"])];
    let (_, body) = answer(&namespaced(), &Turn::new(items, TurnEnd::Completed), &Defaults::default());
    let called = |index: usize| {
        let item = &body["output"][index];
        (item.get("namespace").and_then(Value::as_str), item["name"].as_str().unwrap())
    };
    assert_eq!(called(0), (Some("mcp__files"), "read"));
    assert_eq!(called(1), (Some("mcp__files"), "patch"));
    assert_eq!(called(2), (None, "read"));
    assert_eq!(body["tools"][0]["tools"].as_array().unwrap().len(), 2);
}

#[test]
fn calls_in_the_history_get_the_flat_names_again() {
    let input = json!([
        { "role": "user", "content": "q" },
        { "type": "function_call", "call_id": "c1", "namespace": "mcp__files", "name": "read", "arguments": "{}" },
        { "type": "custom_tool_call", "call_id": "c2", "namespace": "mcp__files", "name": "patch", "input": "*" },
        { "type": "function_call_output", "call_id": "c1", "output": "one" },
    ]);
    let messages = messages(&input, &Defaults::default()).unwrap();
    let names: Vec<&str> = messages[1].tool_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["mcp__files__read", "mcp__files__patch"]);
    assert_eq!(messages[2].name.as_deref(), Some("mcp__files__read"));
}

#[test]
fn flat_names_that_meet_are_refused() {
    let plain = json!({ "type": "function", "name": "n__f" });
    let inside = json!({ "type": "namespace", "name": "n", "tools": [{ "type": "function", "name": "f" }] });
    for tools in [json!([plain, inside]), json!([inside, plain]), json!([inside, inside])] {
        let refused = refusal(responses::read, &json!({ "model": "m", "input": "x", "tools": tools }));
        assert!(refused.message.contains("the model would see two tools of this name"), "{refused}");
    }
}

#[test]
fn allowed_tools_are_named_with_or_without_namespace() {
    let allowed = |tool: Value| {
        let mut extra = namespaced();
        extra["tool_choice"] = json!({ "type": "allowed_tools", "mode": "auto", "tools": [tool] });
        let ApiRequest { job, .. } = ask(&extra, &Defaults::default());
        job.demand.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(allowed(json!({ "type": "custom", "name": "patch" })), ["mcp__files__patch"]);
    assert_eq!(allowed(json!({ "type": "namespace", "name": "mcp__files" })).len(), 2);
    assert_eq!(allowed(json!({ "type": "function", "name": "mcp__files__read" })), ["mcp__files__read"]);
}

#[test]
fn tools_may_come_in_the_input() {
    let extra = json!({ "input": [
        { "type": "additional_tools", "role": "developer", "tools": [
            { "type": "function", "name": "late" }, { "type": "custom", "name": "exec" } ] },
        { "role": "user", "content": "q" },
    ] });
    let ApiRequest { job, warnings, .. } = ask(&extra, &Defaults::default());
    assert_eq!((job.demand.tools.len(), job.conversation.tools.len(), warnings.len()), (2, 2, 0));
    assert_eq!(job.conversation.messages.len(), 1);
}

#[test]
fn padded_deltas_of_short_texts_are_all_of_one_size() {
    let texts = ["a", "\"", "four", "\n", "é", "a longer one of 23 bytes"];
    let (call_id, name) = ("c2".to_owned(), "f".to_owned());
    let turn = Turn::new(
        vec![
            reasoning(&texts),
            message(Phase::Unspecified, &texts),
            call("c1", "f", &texts),
            item(ItemHead::ToolCall { call_id, name, payload: Payload::Text }, &texts),
        ],
        TurnEnd::Completed,
    );
    let (events, _) = answer(&json!({}), &turn, &Defaults::default());
    let deltas: Vec<&Value> = events.iter().filter(|event| event.get("delta").is_some()).collect();
    assert_eq!(deltas.len(), 4 * texts.len());
    for delta in deltas {
        let text = |field: &str| encoded_len(delta[field].as_str().unwrap());
        assert_eq!(text("delta") + text("obfuscation"), 32, "{delta}");
    }
    let off = json!({ "stream_options": { "include_obfuscation": false } });
    let (events, _) = answer(&off, &turn, &Defaults::default());
    assert!(events.iter().all(|event| event.get("obfuscation").is_none()));
}

#[test]
fn logprobs_are_asked_for_by_include_or_by_number() {
    let asked = |extra: Value| ask(&extra, &Defaults::default()).job.logprobs;
    assert_eq!(asked(json!({})), None);
    assert_eq!(asked(json!({ "include": ["message.output_text.logprobs"] })), Some(0));
    assert_eq!(asked(json!({ "top_logprobs": 3 })), Some(3));
    assert_eq!(asked(json!({ "include": ["message.output_text.logprobs"], "top_logprobs": 20 })), Some(20));
}
