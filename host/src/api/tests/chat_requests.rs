//! Chat requests: messages in all shapes, what reaches the job, what is refused.

use serde_json::{Value, json};

use super::super::chat;
use super::{job, refusal};
use crate::parser::contract::ToolChoice;
use crate::prompt::{HistoryCall, Message, Role};

fn with(extra: &Value) -> Value {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }] });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn messages(messages: &Value) -> Vec<Message> {
    job(chat::call, &with(&json!({ "messages": messages }))).0.conversation.messages
}

fn refused(extra: &Value) -> String {
    let error = refusal(chat::call, &with(extra));
    assert_eq!(error.status, 400);
    error.message
}

#[test]
fn messages_of_all_roles_are_taken() {
    let given = json!([
        { "role": "system", "content": "s" },
        { "role": "developer", "content": [{ "type": "text", "text": "d" }] },
        { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "image_url", "image_url": {} }], "name": "u" },
        { "role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{bad" } } ] },
        { "role": "tool", "tool_call_id": "c1", "content": "out" },
        { "role": "assistant", "content": "done", "reasoning": "r2" },
    ]);
    let call = HistoryCall { id: "c1".into(), name: "f".into(), arguments: "{bad".into() };
    let expected = [
        Message::text(Role::System, "s"),
        Message::text(Role::Developer, "d"),
        Message::text(Role::User, "a\n[image]"),
        Message { reasoning: Some("r".into()), tool_calls: vec![call], ..Message::text(Role::Assistant, "") },
        Message {
            tool_call_id: Some("c1".into()),
            name: Some("f".into()),
            ..Message::text(Role::Tool, "out")
        },
        Message { reasoning: Some("r2".into()), ..Message::text(Role::Assistant, "done") },
    ];
    assert_eq!(messages(&given), expected);
}

#[test]
fn declarations_reach_the_template_as_they_are() {
    let tool =
        r#"{"type":"function","function":{"parameters":{"type":"object"},"name":"f","description":"d"}}"#;
    let declaration: Value = serde_json::from_str(tool).unwrap();
    let (job, _) =
        job(chat::call, &with(&json!({ "tools": [declaration, { "type": "custom", "custom": {} }] })));
    assert_eq!(job.conversation.tools[0].declaration.to_string(), tool);
    assert_eq!((job.tools.len(), job.tools[0].name.as_str()), (1, "f"));
    assert_eq!(job.tool_choice, ToolChoice::Auto);
}

#[test]
fn options_reach_the_job() {
    let extra = json!({
        "max_tokens": 9, "max_completion_tokens": 5, "stop": "END", "temperature": 0.5, "top_p": 0, "seed": 3,
        "reasoning_effort": "none", "parallel_tool_calls": false, "stream": true
    });
    let (job, warnings) = job(chat::call, &with(&extra));
    assert_eq!((job.max_output_tokens, job.stop), (Some(5), vec!["END".to_owned()]));
    assert_eq!((job.sampling.temperature, job.sampling.seed), (Some(0.5), Some(3)));
    assert!(job.sampling.top_p.is_some_and(|p| p > 0.0 && p < 1e-6));
    assert!(!job.parallel_tool_calls);
    assert_eq!(job.template_arguments[0], ("enable_thinking".to_owned(), json!(false)));
    assert!(warnings.is_empty());
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (extra, start) in [
        (json!({ "n": 2 }), "n: more than one choice"),
        (json!({ "logprobs": true }), "logprobs: log probabilities"),
        (json!({ "top_logprobs": 3 }), "top_logprobs: log probabilities"),
        (
            json!({ "response_format": { "type": "json_object" } }),
            "response_format: \"json_object\" needs constrained",
        ),
        (json!({ "tool_choice": "required" }), "tool_choice: \"required\" needs constrained"),
        (json!({ "functions": [] }), "functions: superseded"),
        (json!({ "stop": vec!["x"; 17] }), "stop: at most 16 stop texts, got 17"),
        (json!({ "stop": [""] }), "stop[0]: a stop text must not be empty"),
        (json!({ "stop": [3] }), "stop[0]: expected a string, got number"),
        (json!({ "messages": [] }), "messages: there is no message"),
        (json!({ "messages": null }), "messages: missing: expected a list"),
        (json!({ "messages": [{ "role": "user" }] }), "messages[0].content: missing"),
        (
            json!({ "messages": [{ "role": "assistant", "tool_calls": [{ "id": "c" }] }] }),
            "messages[0].tool_calls[0].function: missing",
        ),
        (json!({ "tools": [{ "type": "function" }] }), "tools[0].function: missing"),
        (json!({ "max_tokens": 0 }), "max_tokens: expected an integer"),
    ] {
        let message = refused(&extra);
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn neutral_values_pass_without_a_warning_and_others_with_one() {
    let neutral = json!({ "n": 1, "logprobs": false, "top_logprobs": 0, "response_format": { "type": "text" },
        "presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "stop": null, "store": false });
    assert!(job(chat::call, &with(&neutral)).1.is_empty());
    let (_, warnings) = job(chat::call, &with(&json!({ "presence_penalty": 0.5, "web_search_options": {} })));
    assert_eq!(
        warnings,
        ["unknown field web_search_options ignored", "presence_penalty ignored: it is not there yet"]
    );
}
