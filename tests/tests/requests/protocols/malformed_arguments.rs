//! A call whose arguments are complete but not JSON: Responses and Chat Completions pass them on,
//! Messages can't and ends with an error; each is counted.

use serde_json::{Value, json};
use tests::client::{Answer, metric, post};
use tests::server::{Setup, TestServer};

const ARGUMENTS: &str = "{city: Oslo}";

async fn asked(server: &TestServer, path: &str, stream: bool) -> Answer {
    let schema = json!({ "type": "object" });
    let body = match path {
        "/v1/responses" => json!({ "model": "malformed", "stream": stream, "input": "Weather?",
            "tools": [{ "type": "function", "name": "get_weather", "parameters": schema }] }),
        "/v1/messages" => json!({ "model": "malformed", "stream": stream, "max_tokens": 100,
            "tools": [{ "name": "get_weather", "input_schema": schema }],
            "messages": [{ "role": "user", "content": "Weather?" }] }),
        _ => json!({ "model": "malformed", "stream": stream,
            "tools": [{ "type": "function", "function": { "name": "get_weather", "parameters": schema } }],
            "messages": [{ "role": "user", "content": "Weather?" }] }),
    };
    post(server.address, path, &body).await
}

/// Joins the strings at `pointer` of all events.
fn joined(answer: &Answer, pointer: &str) -> String {
    let events = answer.events();
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_protocol_carries_them_or_says_that_it_cannot() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text =
        format!("<tool_call>\n{{\"name\": \"get_weather\", \"arguments\": {ARGUMENTS}}}\n</tool_call>");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": text }]));
    // The counter counts the calls of a model in the whole process.
    setup.model.served_names = vec!["malformed".to_owned()];
    let server = TestServer::start(setup).await;

    let whole = asked(&server, "/v1/responses", false).await.json();
    assert_eq!(
        (&whole["status"], &whole["output"][0]["arguments"]),
        (&json!("completed"), &json!(ARGUMENTS))
    );
    let stream = asked(&server, "/v1/responses", true).await;
    assert_eq!(joined(&stream, "/arguments"), ARGUMENTS);

    let whole = asked(&server, "/v1/chat/completions", false).await.json();
    let call = "/choices/0/message/tool_calls/0/function/arguments";
    assert_eq!(whole.pointer(call), Some(&json!(ARGUMENTS)));
    let stream = asked(&server, "/v1/chat/completions", true).await;
    assert_eq!(joined(&stream, "/choices/0/delta/tool_calls/0/function/arguments"), ARGUMENTS);

    let whole = asked(&server, "/v1/messages", false).await;
    assert_eq!((whole.status.as_u16(), &whole.json()["error"]["type"]), (500, &json!("api_error")));
    let stream = asked(&server, "/v1/messages", true).await;
    let last: Value = stream.events().pop().expect("events");
    assert_eq!((&last["type"], &last["error"]), (&json!("error"), &whole.json()["error"]));
    assert!(last["error"]["message"].as_str().expect("text").contains("get_weather"), "{last}");
    let sent = joined(&stream, "/delta/partial_json");
    assert!(ARGUMENTS.starts_with(&sent) && sent.len() < 2, "{sent}");

    let counted = metric(server.address, r#"sluice_malformed_arguments_total{model_name="malformed"}"#).await;
    assert!((counted - 6.0).abs() < 0.5, "{counted}");
    server.stop().await;
}
