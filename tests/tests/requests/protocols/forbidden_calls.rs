//! Calls that a model writes although `tool_choice` is `none`: nothing of them reaches a client, in
//! any protocol, streamed or not.

use api::Protocol;
use serde_json::{Value, json};
use tests::client::{Answer, metric, post};
use tests::server::{Setup, TestServer};

const CALL: &str =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";

/// What the model writes for each question, and the text that a client sees of it.
fn turns() -> [(&'static str, String, &'static str); 6] {
    [
        ("alone", CALL.to_owned(), ""),
        ("between", format!("Let me see.\n{CALL}\n{CALL}\nIt is warm."), "Let me see.|It is warm."),
        ("broken", format!("Wait.{}", &CALL[..CALL.len() - 20]), "Wait."),
        ("nameless", "Wait.<tool_call>\n{\"na".to_owned(), "Wait."),
        (
            "mentioned",
            "Write <tool_call> and then </tool_call>.".to_owned(),
            "Write <tool_call> and then </tool_call>.",
        ),
        ("thought", format!("<think>{CALL} no</think>Fine."), "Fine."),
    ]
}

fn body(protocol: Protocol, question: &str, stream: bool) -> Value {
    let schema = json!({ "type": "object" });
    let messages = json!([{ "role": "user", "content": question }]);
    match protocol {
        Protocol::Responses => {
            json!({ "model": "forbidden", "stream": stream, "input": question, "tool_choice": "none",
            "tools": [{ "type": "function", "name": "get_weather", "parameters": schema }] })
        }
        Protocol::Messages => {
            json!({ "model": "forbidden", "stream": stream, "max_tokens": 100, "messages": messages,
            "tool_choice": { "type": "none" }, "tools": [{ "name": "get_weather", "input_schema": schema }] })
        }
        _ => json!({ "model": "forbidden", "stream": stream, "messages": messages, "tool_choice": "none",
            "tools": [{ "type": "function", "function": { "name": "get_weather", "parameters": schema } }],
            "stream_options": if stream { json!({ "include_usage": true }) } else { Value::Null } }),
    }
}

/// The answer's texts, how it ended, and its number of output tokens. No part of it is a call.
fn told(protocol: Protocol, whole: &Value) -> (String, String, u64) {
    let (texts, end, tokens): (Vec<&Value>, _, _) = match protocol {
        Protocol::Responses => {
            let items =
                whole["output"].as_array().expect("items").iter().filter(|item| item["type"] != "reasoning");
            (
                items.map(|item| &item["content"][0]["text"]).collect(),
                &whole["status"],
                &whole["usage"]["output_tokens"],
            )
        }
        Protocol::Messages => {
            let blocks = whole["content"]
                .as_array()
                .expect("blocks")
                .iter()
                .filter(|block| block["type"] != "thinking");
            (
                blocks.map(|block| &block["text"]).collect(),
                &whole["stop_reason"],
                &whole["usage"]["output_tokens"],
            )
        }
        _ => {
            let choice = &whole["choices"][0];
            assert!(choice["message"]["tool_calls"].is_null(), "{choice}");
            (
                vec![&choice["message"]["content"]],
                &choice["finish_reason"],
                &whole["usage"]["completion_tokens"],
            )
        }
    };
    let texts: Vec<&str> = texts.into_iter().map(|text| text.as_str().unwrap_or_default()).collect();
    (texts.join("|"), end.as_str().expect("an end").to_owned(), tokens.as_u64().expect("a number"))
}

/// The same of a stream, which must be well-formed.
fn streamed(protocol: Protocol, answer: &Answer) -> (String, String, u64) {
    let mut check = protocol.check();
    check.feed(&answer.body).and_then(|()| check.finish()).expect("a well-formed stream");
    let events = answer.events();
    let joined = |pointer: &str| {
        events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect::<String>()
    };
    let last = |pointer: &str| {
        events.iter().rev().find_map(|event| event.pointer(pointer).filter(|value| !value.is_null()))
    };
    match protocol {
        Protocol::Responses => told(protocol, last("/response").expect("a last event")),
        Protocol::Messages => (
            joined("/delta/text"),
            last("/delta/stop_reason").and_then(Value::as_str).expect("an end").to_owned(),
            last("/usage/output_tokens").and_then(Value::as_u64).expect("a number"),
        ),
        _ => (
            joined("/choices/0/delta/content"),
            last("/choices/0/finish_reason").and_then(Value::as_str).expect("an end").to_owned(),
            last("/usage/completion_tokens").and_then(Value::as_u64).expect("a number"),
        ),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_protocol_shows_anything_of_a_forbidden_call() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules: Vec<Value> = turns()
        .iter()
        .map(|(question, text, _)| json!({ "when": { "contains": question }, "text": text }))
        .collect();
    let mut setup = Setup::replay(folder.path(), &rules.into());
    // The counter counts the calls of a model in the whole process.
    setup.model.served_names = vec!["forbidden".to_owned()];
    let server = TestServer::start(setup).await;
    let protocols = [
        (Protocol::Responses, "/v1/responses", "completed"),
        (Protocol::Chat, "/v1/chat/completions", "stop"),
        (Protocol::Messages, "/v1/messages", "end_turn"),
    ];
    for (protocol, path, end) in protocols {
        for (question, _, text) in turns() {
            let whole = post(server.address, path, &body(protocol, question, false)).await;
            assert_eq!(whole.status, 200, "{path} {question}: {}", String::from_utf8_lossy(&whole.body));
            let told = told(protocol, &whole.json());
            // Chat has one message, in which the texts are paragraphs.
            let is_one = matches!(protocol, Protocol::Chat);
            let expected = if is_one { text.replace('|', "\n\n") } else { text.to_owned() };
            assert_eq!((&*told.0, &*told.1), (&*expected, end), "{path} {question}");
            assert!(told.2 > 0, "{path} {question}: the call's tokens count");
            let stream = post(server.address, path, &body(protocol, question, true)).await;
            let seen = streamed(protocol, &stream);
            assert_eq!(
                (seen.0.replace('|', ""), seen.1, seen.2),
                (told.0.replace('|', ""), told.1, told.2),
                "{path} {question}"
            );
        }
    }
    // One call alone, two between texts, and one that is broken; each was asked for six times.
    let counted = metric(server.address, r#"sluice_dropped_calls_total{model_name="forbidden"}"#).await;
    assert!((counted - 24.0).abs() < 0.5, "{counted}");
    server.stop().await;
}
