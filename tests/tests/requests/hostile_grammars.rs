//! Grammars and schemas that are made to end the process, over the socket: each is refused with a
//! reason in each protocol, and the server answers on. `--bench attacks` measures what they cost.

use serde_json::{Map, Value, json};
use tests::client::{get, post};
use tests::server::{Setup, TestServer};

/// Definitions of a schema, each of which leads to the next.
fn references(length: usize, wrap: impl Fn(Value) -> Value) -> Value {
    let next = |at: usize| json!({ "$ref": format!("#/$defs/d{at}") });
    let mut definitions: Map<_, _> = (0..length).map(|at| (format!("d{at}"), wrap(next(at + 1)))).collect();
    definitions.insert(format!("d{length}"), json!({ "type": "string" }));
    json!({ "type": "object", "properties": { "a": next(0) }, "required": ["a"], "$defs": definitions })
}

fn keys(count: usize, value: &Value) -> Value {
    (0..count).map(|at| (format!("k{at}"), value.clone())).collect::<Map<_, _>>().into()
}

fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("references through allOf", references(316, |next| json!({ "allOf": [next] }))),
        ("references through items", references(258, |next| json!({ "type": "array", "items": next }))),
        ("references through references", references(1000, |next| next)),
        ("a constant of many keys", json!({ "const": keys(6618, &json!(1)) })),
        ("an enumeration of many keys", json!({ "enum": [keys(6618, &json!(1))] })),
        (
            "many properties",
            json!({ "type": "object", "properties": keys(6500, &json!({ "type": "string" })) }),
        ),
    ]
}

/// Requests of each protocol for an answer of this schema.
fn of_schema(schema: &Value) -> [(&'static str, Value); 3] {
    let format = json!({ "type": "json_schema", "name": "n", "schema": schema });
    let named = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } });
    let chat = chat();
    [
        (
            "/v1/responses",
            json!({ "model": "qwen3-tiny", "input": "x", "max_output_tokens": 2, "text": { "format": format } }),
        ),
        ("/v1/chat/completions", merged(&chat, json!({ "response_format": named }))),
        ("/v1/messages", merged(&chat, json!({ "output_config": { "format": format } }))),
    ]
}

fn chat() -> Value {
    json!({ "model": "qwen3-tiny", "max_tokens": 2, "messages": [{ "role": "user", "content": "x" }] })
}

fn merged(body: &Value, extra: Value) -> Value {
    let mut body = body.clone();
    let Value::Object(extra) = extra else { panic!("fields") };
    body.as_object_mut().expect("fields").extend(extra);
    body
}

/// Rules or terminals, of which each leads to the next.
fn chain(name: char, length: usize, mark: &str) -> Value {
    let links: Vec<_> = (0..length).map(|at| format!("{name}{at}: {name}{}{mark}", at + 1)).collect();
    json!({ "guided_grammar": format!("start: {name}0\n{}\n{name}{length}: \"a\"\n", links.join("\n")) })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_that_lead_on_and_on_never_end_the_server() {
    let server = TestServer::start(Setup::default()).await;
    for (name, schema) in schemas() {
        for (path, body) in of_schema(&schema) {
            let answer = post(server.address, path, &body).await;
            assert!(matches!(answer.status.as_u16(), 200 | 400), "{name}, {path}: {}", answer.status);
        }
    }
    let answer = post(server.address, "/v1/chat/completions", &chat()).await;
    assert_eq!(answer.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_grammars_are_refused_with_the_reason() {
    let server = TestServer::start(Setup::default()).await;
    for form in [chain('r', 700, ""), chain('r', 700, "?"), chain('T', 3000, "")] {
        let answer = post(server.address, "/v1/chat/completions", &merged(&chat(), form)).await;
        let message = answer.json()["error"]["message"].to_string();
        assert!(answer.status == 400 && message.contains("too long a chain"), "{}: {message}", answer.status);
    }
    for form in
        [json!({ "guided_regex": "a?".repeat(30_000) }), json!({ "guided_regex": "a*".repeat(16_000) })]
    {
        let answer = post(server.address, "/v1/chat/completions", &merged(&chat(), form)).await;
        let message = answer.json()["error"]["message"].to_string();
        assert!(
            answer.status == 400 && message.contains("compiling it takes"),
            "{}: {message}",
            answer.status
        );
    }
    server.stop().await;
}

/// The bound stands where a pattern is compiled, whichever field it came in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_patterns_of_schemas_are_refused_with_the_reason() {
    let server = TestServer::start(Setup::default()).await;
    let letters: String = ('a'..='z').cycle().take(20_000).flat_map(|letter| [letter, '?']).collect();
    for pattern in ["a?".repeat(20_000), letters] {
        let schema = json!({ "type": "string", "pattern": format!("^{pattern}$") });
        for (path, body) in of_schema(&schema) {
            let answer = post(server.address, path, &body).await;
            let message = answer.json()["error"]["message"].to_string();
            assert!(
                answer.status == 400 && message.contains("compiling it takes"),
                "{path} {}: {message}",
                answer.status
            );
        }
    }
    assert_eq!(post(server.address, "/v1/chat/completions", &chat()).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uncalled_strict_tool_with_endless_schema_is_free() {
    let server = TestServer::start(Setup::default()).await;
    let parameters = references(316, |next| json!({ "allOf": [next] }));
    let function = json!({ "name": "f", "strict": true, "parameters": parameters });
    let tools = json!({ "tools": [{ "type": "function", "function": function }], "model": "qwen3-tiny" });
    // Its declaration alone is longer than the embedded model's context: what the prompt takes is
    // checked before the grammar.
    let answer = post(server.address, "/v1/chat/completions", &merged(&chat(), tools)).await;
    assert_eq!(answer.json()["error"]["code"], "context_length_exceeded");
    assert_eq!(get(server.address, "/health").await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsatisfiable_schema_is_the_requests_fault() {
    let server = TestServer::start(Setup::default()).await;
    for (path, mut body) in of_schema(&json!({ "$ref": "#" })) {
        // Room for the model's thoughts, behind which the answer can't begin.
        body[if path == "/v1/responses" { "max_output_tokens" } else { "max_tokens" }] = json!(1000);
        let answer = post(server.address, path, &body).await;
        let message = answer.json()["error"]["message"].to_string();
        assert!(
            answer.status == 400 && message.contains("allows no text"),
            "{path} {}: {message}",
            answer.status
        );
    }
    server.stop().await;
}
