//! Trained models of other families, loaded from their directories: real tokens, with their own
//! template and the parser that is chosen by the model's type, in every protocol.

use std::path::Path;

use model::{EngineChoice, ModelOptions};
use serde_json::{Value, json};
use tests::client::{Answer, post};
use tests::server::{Setup, TestServer};
use tests::tools::item;
use tests::transcripts::{chat_tools, messages_tools, responses_tools};

const KIMI: &str = "kimi-tiny";
const MODELS: [&str; 2] = ["gpt-oss-tiny", KIMI];
const ASKED: &str = "What is the weather in Helsinki?";
const THOUGHT: &str = "The user wants the weather in Helsinki. I call get_weather.";
const RESULT: &str = r#"{"temperature": 21, "condition": "sunny"}"#;
const ANSWER: &str = "It is sunny with 21 degrees in Helsinki.";

fn options(name: &str) -> ModelOptions {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models").join(name);
    ModelOptions {
        model: Some(directory.to_string_lossy().into_owned()),
        engine: EngineChoice::Local,
        ..Setup::default().model
    }
}

async fn server() -> TestServer {
    let [first, others @ ..] = MODELS;
    let others = others.map(options).into();
    TestServer::start(Setup { model: options(first), others, ..Setup::default() }).await
}

async fn answered(server: &TestServer, path: &str, body: &Value) -> Answer {
    let answer = post(server.address, path, body).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    answer
}

/// City in a call's arguments, parsed as a client does.
fn city(arguments: &Value) -> Value {
    serde_json::from_str::<Value>(arguments.as_str().expect("text")).expect("JSON")["city"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tools_round_trip_with_responses() {
    let server = server().await;
    for (model, stream) in MODELS.into_iter().flat_map(|model| [(model, false), (model, true)]) {
        let question = json!({ "role": "user", "content": ASKED });
        let ask = async |input: &Value| {
            let body = json!({ "model": model, "temperature": 0, "input": input, "tools": responses_tools(), "stream": stream });
            let answer = answered(&server, "/v1/responses", &body).await;
            if stream { answer.events().last().expect("an event")["response"].clone() } else { answer.json() }
        };
        let first = ask(&json!([question])).await;
        assert_eq!(tests::tools::types(&first), ["reasoning", "function_call"], "{model}");
        assert_eq!(item(&first, "reasoning")["content"][0]["text"], THOUGHT, "{model}");
        let call = item(&first, "function_call");
        assert_eq!(
            (call["name"].as_str(), city(&call["arguments"])),
            (Some("get_weather"), json!("Helsinki")),
            "{model}"
        );
        let result = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": RESULT });
        let mut input = vec![question.clone()];
        input.extend_from_slice(first["output"].as_array().expect("items"));
        input.push(result);
        let second = ask(&json!(input)).await;
        assert_eq!(tests::tools::types(&second), ["reasoning", "message"], "{model}");
        assert_eq!(item(&second, "message")["content"][0]["text"], ANSWER, "{model}");
    }
}

async fn chat(server: &TestServer, model: &str, messages: &[Value]) -> Value {
    let body = json!({ "model": model, "temperature": 0, "messages": messages, "tools": chat_tools() });
    answered(server, "/v1/chat/completions", &body).await.json()["choices"][0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tools_round_trip_with_chat_completions() {
    let server = server().await;
    for model in MODELS {
        let mut messages = vec![json!({ "role": "user", "content": ASKED })];
        let first = chat(&server, model, &messages).await;
        assert_eq!(first["finish_reason"], "tool_calls", "{model}");
        assert_eq!(first["message"]["reasoning_content"], THOUGHT, "{model}");
        let calls = first["message"]["tool_calls"].as_array().expect("calls");
        assert_eq!(calls.len(), 1, "{model}: {first}");
        assert_eq!(calls[0]["function"]["name"], "get_weather");
        assert_eq!(city(&calls[0]["function"]["arguments"]), "Helsinki");
        messages.push(first["message"].clone());
        messages.push(json!({ "role": "tool", "tool_call_id": calls[0]["id"], "content": RESULT }));
        let second = chat(&server, model, &messages).await;
        assert_eq!(
            (&second["message"]["content"], &second["finish_reason"]),
            (&json!(ANSWER), &json!("stop")),
            "{model}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tools_round_trip_with_messages() {
    let server = server().await;
    for model in MODELS {
        let mut messages = vec![json!({ "role": "user", "content": ASKED })];
        let ask = async |messages: &[Value]| {
            let body = json!({ "model": model, "temperature": 0, "max_tokens": 200, "messages": messages, "tools": messages_tools(),
                               "thinking": { "type": "adaptive" } });
            answered(&server, "/v1/messages", &body).await.json()
        };
        let first = ask(&messages).await;
        assert_eq!(first["stop_reason"], "tool_use", "{model}");
        let [thinking, call] = first["content"].as_array().expect("blocks").as_slice() else {
            panic!("{model}: {first}")
        };
        assert_eq!(thinking["thinking"], THOUGHT, "{model}");
        assert_eq!((&call["name"], &call["input"]), (&json!("get_weather"), &json!({ "city": "Helsinki" })));
        messages.push(json!({ "role": "assistant", "content": first["content"] }));
        let result = json!({ "type": "tool_result", "tool_use_id": call["id"], "content": RESULT });
        messages.push(json!({ "role": "user", "content": [result] }));
        let second = ask(&messages).await;
        assert_eq!(
            second["content"].as_array().and_then(|blocks| blocks.last()).expect("a block")["text"],
            ANSWER,
            "{model}"
        );
        assert_eq!(second["stop_reason"], "end_turn");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_calls_in_one_section_are_two_and_both_are_read() {
    let server = server().await;
    let mut messages = vec![json!({ "role": "user", "content": "What is the weather in Riga and Oslo?" })];
    let first = chat(&server, KIMI, &messages).await;
    let calls = first["message"]["tool_calls"].as_array().expect("calls");
    let cities: Vec<_> = calls.iter().map(|call| city(&call["function"]["arguments"])).collect();
    assert_eq!(cities, ["Riga", "Oslo"], "{first}");
    assert_ne!(calls[0]["id"], calls[1]["id"]);
    messages.push(first["message"].clone());
    let results =
        [r#"{"temperature": 4, "condition": "windy"}"#, r#"{"temperature": 7, "condition": "foggy"}"#];
    for (call, result) in calls.iter().zip(results) {
        messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": result }));
    }
    let second = chat(&server, KIMI, &messages).await;
    assert_eq!(
        second["message"]["content"],
        "It is windy with 4 degrees in Riga and foggy with 7 degrees in Oslo."
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_reasoning_where_the_request_turns_it_off() {
    let server = server().await;
    let body = json!({ "model": KIMI, "temperature": 0, "input": ASKED, "tools": responses_tools(), "reasoning": { "effort": "none" } });
    let answer = answered(&server, "/v1/responses", &body).await.json();
    assert_eq!(tests::tools::types(&answer), ["function_call"]);
    assert_eq!(city(&item(&answer, "function_call")["arguments"]), "Helsinki");
}

/// The embedded model with one tool alone, as the README asks it. Messages doesn't think unless it is asked to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_model_calls_the_only_tool_without_thinking() {
    let server = TestServer::start(Setup { model: options("qwen3-tiny"), ..Setup::default() }).await;
    let mut tools = messages_tools();
    tools.as_array_mut().expect("a list").retain(|tool| tool["name"] == "get_weather");
    let messages = json!([{ "role": "user", "content": ASKED }]);
    let body = json!({ "model": "qwen3-tiny", "max_tokens": 200, "messages": messages, "tools": tools });
    let answer = answered(&server, "/v1/messages", &body).await.json();
    assert_eq!(answer["stop_reason"], "tool_use", "{answer}");
    assert_eq!(answer["content"][0]["input"], json!({ "city": "Helsinki" }), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_model_fills_a_schema_in_one_line() {
    let server = TestServer::start(Setup { model: options("qwen3-tiny"), ..Setup::default() }).await;
    let schema = json!({
        "type": "object", "required": ["answer", "confidence", "person"],
        "properties": {
            "answer": { "type": "string" }, "confidence": { "type": "number" },
            "person": { "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] },
        },
    });
    for question in ["Who are you?", ASKED, "Give me a person."] {
        for effort in ["none", "high"] {
            let body = json!({
                "model": "qwen3-tiny", "input": question, "reasoning": { "effort": effort }, "max_output_tokens": 200,
                "text": { "format": { "type": "json_schema", "name": "answer", "schema": schema } },
            });
            let answer = answered(&server, "/v1/responses", &body).await.json();
            assert_eq!(answer["status"], "completed", "{answer}");
            let text = item(&answer, "message")["content"][0]["text"].as_str().expect("text").to_owned();
            let object: Value = serde_json::from_str(&text).expect("JSON");
            let blanks = text.matches(char::is_whitespace).count();
            let said = object["answer"].as_str().expect("a text");
            let written = format!(
                r#"{{"answer": {}, "confidence": {}, "person": {{"name": {}}}}}"#,
                json!(said),
                object["confidence"],
                object["person"]["name"]
            );
            assert_eq!(
                (text.len(), blanks),
                (written.len(), written.matches(char::is_whitespace).count()),
                "{text}"
            );
        }
    }
}
