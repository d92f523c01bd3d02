//! Calls of tools that aren't strict, on the CPU engine, here and behind another server: they are held to an envelope unless the operator leaves them free, and no
//! request fails for that.

use model::{CallForm, EngineChoice, ModelOptions};
use serde_json::{Value, json};
use tests::client::post;
use tests::server::{Setup, TestServer};

const QUESTIONS: [&str; 4] =
    ["What is the weather in Oslo?", "Add 2 and 3.", "Who are you?", "Is it raining in Paris or in Rome?"];
/// Numbers of the answers to each question.
const SEEDS: u64 = 20;

async fn server(call_form: CallForm) -> TestServer {
    server_before(EngineChoice::Local, call_form).await
}

async fn server_before(engine: EngineChoice, call_form: CallForm) -> TestServer {
    let setup = Setup::default();
    TestServer::start(Setup { model: ModelOptions { call_form, engine, ..setup.model }, ..setup }).await
}

fn tool(name: &str, parameters: &Value) -> Value {
    json!({ "type": "function", "function": { "name": name, "description": "A tool.", "parameters": parameters } })
}

fn body(question: &str, tools: &Value) -> Value {
    json!({
        "model": "qwen3-tiny",
        "messages": [{ "role": "user", "content": question }],
        "tools": tools,
        "max_completion_tokens": 200
    })
}

/// Numbers of calls, of calls that are none of the declared tools' or whose arguments are no object of the tool's keys, and of answers without a
/// call.
async fn counted(server: &TestServer) -> [usize; 3] {
    let closed = json!({ "type": "object", "properties": { "city": {} }, "additionalProperties": false });
    let tools = json!([tool("find_weather", &closed), tool("read_file", &json!({ "type": "object" }))]);
    let [mut calls, mut bad, mut texts] = [0; 3];
    for (question, seed) in QUESTIONS.iter().flat_map(|question| (0..SEEDS).map(move |seed| (question, seed)))
    {
        let mut body = body(question, &tools);
        (body["temperature"], body["seed"]) = (json!(1.6), json!(seed));
        let answer = post(server.address, "/v1/chat/completions", &body).await;
        if answer.status.is_server_error() {
            bad += 1;
            continue;
        }
        let choice = answer.json()["choices"][0].clone();
        let made = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
        let whole = made.len() - usize::from(choice["finish_reason"] == "length" && !made.is_empty());
        texts += usize::from(made.is_empty());
        calls += whole;
        bad += made[..whole].iter().filter(|call| !is_held(&call["function"])).count();
    }
    [calls, bad, texts]
}

/// Whether a call has its envelope.
fn is_held(call: &Value) -> bool {
    let arguments = serde_json::from_str::<Value>(call["arguments"].as_str().unwrap_or_default());
    let keys = arguments.ok().and_then(|arguments| Some(arguments.as_object()?.clone()));
    match (call["name"].as_str(), keys) {
        (Some("find_weather"), Some(keys)) => keys.keys().all(|key| key == "city"),
        (Some("read_file"), Some(_)) => true,
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_calls_have_an_envelope_unless_they_are_left_free() {
    let (held, free) = (server(CallForm::Envelope).await, server(CallForm::Free).await);
    // An engine elsewhere follows the envelope of the server before it.
    let engine = format!("http://{}", free.address).parse().expect("a URL");
    let before = server_before(engine, CallForm::Envelope).await;
    for server in [&held, &before] {
        let [calls, bad, texts] = counted(server).await;
        assert!(calls > 10 && texts > 10, "{calls} calls, {texts} texts");
        assert_eq!(bad, 0);
    }
    let [_, bad, _] = counted(&free).await;
    assert!(bad > 0, "the model writes malformed calls");
    for server in [before, held, free] {
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_for_an_envelope_that_nobody_asked_for() {
    let server = server(CallForm::Envelope).await;
    let any = json!({ "type": "object" });
    let names: Vec<String> = (0..512).map(|number| format!("{number}_{}", "n".repeat(58))).collect();
    let many: Vec<Value> = names.iter().map(|name| tool(name, &any)).collect();
    let keys: serde_json::Map<_, _> = (0..3000).map(|key| (format!("k{key}"), json!({}))).collect();
    let wide = json!({ "type": "object", "properties": keys, "additionalProperties": false });
    // Names beyond those of any client are refused before a grammar is made of them.
    let long = tool(&"n".repeat(1024), &any);
    for (tools, what) in
        [(json!(vec![long.clone(); 1024]), "at most 512 tools"), (json!([long]), "128 characters")]
    {
        let answer = post(server.address, "/v1/chat/completions", &body("Hi", &tools)).await;
        let message = answer.json()["error"]["message"].as_str().expect("a text").to_owned();
        assert!(answer.status == 400 && message.contains(what), "{message:.300}");
    }
    let unusable = json!({ "type": "object", "properties": { "a": { "pattern": "a?".repeat(9000) } } });
    for tools in [
        json!(many),
        json!([tool("wide", &wide)]),
        json!([tool("unusable", &unusable)]),
        json!([tool("of_words", &json!({ "type": "string" }))]),
    ] {
        for limits in [
            json!({}),
            json!({ "min_tokens": 3 }),
            json!({ "ignore_eos": true }),
            json!({ "bad_words": ["{"] }),
        ] {
            let mut body = body("Hi", &tools);
            body["max_completion_tokens"] = json!(4);
            for (name, value) in limits.as_object().expect("fields") {
                body[name] = value.clone();
            }
            let answer = post(server.address, "/v1/chat/completions", &body).await;
            let reason = String::from_utf8_lossy(&answer.body);
            let is_too_long = reason.contains("context_length_exceeded");
            assert!(answer.status == 200 || is_too_long, "{limits}: {}", &reason[..reason.len().min(400)]);
        }
    }
    server.stop().await;
}
