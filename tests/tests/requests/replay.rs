//! Replayed answers to requests that demand a form: what a model could have written is played, and
//! anything else is an error at its place.

use serde_json::{Value, json};
use tests::client::post;
use tests::server::{Setup, TestServer};

use crate::constraints::merged;

/// Request, the output that it allows, one that it doesn't, and what the error says of it.
struct Demand {
    path: &'static str,
    body: Value,
    allowed: &'static str,
    refused: &'static str,
    says: &'static str,
}

const CALL: &str =
    "<think>\nI call f.\n</think>\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 1}}\n</tool_call>";
const WRONG_CALL: &str = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\": 3}}\n</tool_call>";
const OTHER_CALL: &str = "<tool_call>\n{\"name\": \"g\", \"arguments\": {\"n\": 1}}\n</tool_call>";
const WRONG_VALUE: &str = "has \"3\", which isn't allowed there, at token ";

fn schema() -> Value {
    json!({
        "type": "object", "properties": { "n": { "enum": [1, 2] } }, "required": ["n"], "additionalProperties": false
    })
}

/// Bodies of the three chat protocols with tools `f` and `g`, and the fields `extra`.
fn with_tools(path: &str, is_strict: bool, extra: &Value) -> Value {
    let tool = |name| {
        let (schema, function) = match path {
            "/v1/messages" => ("input_schema", json!({ "name": name })),
            _ => ("parameters", json!({ "type": "function", "name": name })),
        };
        let function = merged(function, &json!({ schema: self::schema(), "strict": is_strict }));
        match path {
            "/v1/chat/completions" => json!({ "type": "function", "function": function }),
            _ => function,
        }
    };
    merged(json!({ "tools": [tool("f"), tool("g")] }), extra)
}

fn demands() -> Vec<Demand> {
    let (responses, chat, messages) = ("/v1/responses", "/v1/chat/completions", "/v1/messages");
    let format = json!({ "type": "json_schema", "name": "n", "schema": schema() });
    let of_schema = |path, body| Demand {
        path,
        body,
        allowed: "<think>\nEasy.\n</think>\n\n{\"n\": 1}",
        refused: "{\"n\": 3}",
        says: WRONG_VALUE,
    };
    let required = |path, choice| Demand {
        path,
        body: with_tools(path, false, &json!({ "tool_choice": choice })),
        allowed: CALL,
        refused: "Hi.",
        says: "has \"Hi\", which isn't allowed there, at token 0 (byte 0), behind \"\"",
    };
    let named = |path, choice| Demand {
        refused: OTHER_CALL,
        says: "(byte 22), behind \"<tool_call>\\n{\\\"name\\\": \\\"\"",
        ..required(path, choice)
    };
    let strict = |path| Demand {
        body: with_tools(path, true, &json!({})),
        refused: WRONG_CALL,
        says: WRONG_VALUE,
        ..required(path, json!("auto"))
    };
    let raw = |refused, says| Demand {
        path: "/v1/completions",
        body: json!({ "structured_outputs": { "grammar": "start: \"yes\" | \"no\"" } }),
        allowed: "yes",
        refused,
        says,
    };
    let named_json = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema() } });
    vec![
        of_schema(responses, json!({ "text": { "format": format } })),
        of_schema(chat, json!({ "response_format": named_json })),
        of_schema(messages, json!({ "output_config": { "format": format } })),
        required(responses, json!("required")),
        required(chat, json!("required")),
        required(messages, json!({ "type": "any" })),
        named(responses, json!({ "type": "function", "name": "f" })),
        named(chat, json!({ "type": "function", "function": { "name": "f" } })),
        named(messages, json!({ "type": "tool", "name": "f" })),
        strict(responses),
        strict(chat),
        strict(messages),
        raw("maybe", "has \"m\", which isn't allowed there, at token 0"),
        raw("yes!", "goes on with \"!\" where it is complete, at token "),
        raw("ye", "ends before it is complete, at token "),
    ]
}

/// The case's body with a question that is answered by one of its outputs.
fn asks(case: &Demand, about: &str, stream: bool) -> Value {
    let asked = match case.path {
        "/v1/responses" => json!({ "input": about }),
        "/v1/completions" => json!({ "prompt": about }),
        _ => json!({ "messages": [{ "role": "user", "content": about }], "max_tokens": 200 }),
    };
    let common = json!({ "model": "qwen3-tiny", "stream": stream });
    merged(merged(case.body.clone(), &asked), &common)
}

/// Server whose outputs are those of the cases: `allowed N` and `refused N` ask for them.
async fn start(cases: &[Demand], folder: &tempfile::TempDir, tokens_per_step: usize) -> TestServer {
    let rule = |asked: String, text| json!({ "when": { "last_user_contains": asked }, "text": text, "tokens_per_step": tokens_per_step });
    let rules = cases.iter().enumerate().flat_map(|(at, case)| {
        // Thinking is off in Messages unless a request asks for it.
        let thoughtless = case.allowed.rsplit("</think>\n\n").next().unwrap_or_default();
        let allowed = if case.path == "/v1/messages" { thoughtless } else { case.allowed };
        [rule(format!("allowed {at}."), allowed), rule(format!("refused {at}."), case.refused)]
    });
    TestServer::start(Setup::replay(folder.path(), &rules.collect())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allowed_answers_play_and_misses_name_their_place() {
    for tokens_per_step in [1, 0] {
        let (cases, folder) = (demands(), tempfile::tempdir().expect("a temporary folder"));
        let server = start(&cases, &folder, tokens_per_step).await;
        for (at, case) in cases.iter().enumerate() {
            for stream in [false, true] {
                let answer = |about: String| async move {
                    let answer = post(server.address, case.path, &asks(case, &about, stream)).await;
                    (answer.status.as_u16(), String::from_utf8_lossy(&answer.body).into_owned())
                };
                let place = format!("{} {} {stream}", case.path, case.body);
                let (status, text) = answer(format!("allowed {at}.")).await;
                assert_eq!(status, 200, "{place}: {text}");
                assert!(!text.contains("error\":{") && !text.contains("response.failed"), "{place}: {text}");
                let (status, text) = answer(format!("refused {at}.")).await;
                assert_eq!(status, if stream { 200 } else { 400 }, "{place}: {text}");
                let says = serde_json::to_string(case.says).expect("JSON");
                assert!(text.contains(says.trim_matches('"')), "{place}: {text}");
                assert!(text.contains("Change the replay file's rule, or the request."), "{place}: {text}");
                let codes = ["replay_mismatch", "invalid_prompt", "invalid_request_error"];
                assert!(codes.iter().any(|code| text.contains(code)), "{place}: {text}");
                assert!(!text.contains("server_error") && !text.contains("api_error"), "{place}: {text}");
            }
        }
        server.stop().await;
    }
}
