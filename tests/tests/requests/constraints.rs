//! Requests whose answer must follow a grammar: the CPU engine follows it, and a grammar that
//! outgrows its limits is the request's fault. Priorities, too.

use model::ModelOptions;
use serde_json::{Value, json};
use tests::client::post;
use tests::server::{Setup, TestServer};

/// Endpoint and body.
fn demands() -> Vec<(&'static str, Value)> {
    let schema = json!({
        "type": "object", "properties": { "n": { "enum": [1, 2] } }, "required": ["n"], "additionalProperties": false
    });
    let function = json!({ "name": "f", "parameters": schema });
    let messages = json!([{ "role": "user", "content": "x" }]);
    let chat = |extra: Value| merged(json!({ "model": "qwen3-tiny", "messages": messages }), &extra);
    let responses = |extra: Value| merged(json!({ "model": "qwen3-tiny", "input": "x" }), &extra);
    let anthropic = |extra: Value| merged(chat(json!({ "max_tokens": 5 })), &extra);
    let flat = json!([{ "type": "function", "name": "f", "parameters": schema }]);
    let nested = json!([{ "type": "function", "function": function }]);
    let format = json!({ "type": "json_schema", "name": "n", "schema": schema });
    let of_anthropic = json!([{ "name": "f", "input_schema": schema }]);
    vec![
        ("/v1/responses", responses(json!({ "text": { "format": format } }))),
        ("/v1/responses", responses(json!({ "tools": flat, "tool_choice": "required" }))),
        ("/v1/chat/completions", chat(json!({ "response_format": { "type": "json_object" } }))),
        ("/v1/chat/completions", chat(json!({ "tools": nested, "tool_choice": "required" }))),
        ("/v1/messages", anthropic(json!({ "output_config": { "format": format } }))),
        ("/v1/messages", anthropic(json!({ "tools": of_anthropic, "tool_choice": { "type": "any" } }))),
    ]
}

/// The body with the fields of `extra`.
pub(crate) fn merged(mut body: Value, extra: &Value) -> Value {
    for (name, value) in extra.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

/// Arguments of the call, or else the message, parsed as JSON.
fn written(answer: &Value) -> Value {
    let text = |value: &Value| serde_json::from_str(value.as_str().expect("a text")).expect("JSON");
    let last = |list: &Value| list.as_array().and_then(|list| list.last()).cloned().unwrap_or_default();
    let item = last(&answer["output"]);
    let block = last(&answer["content"]);
    let message = &answer["choices"][0]["message"];
    match (item["type"].as_str(), block["type"].as_str()) {
        (Some("function_call"), _) => text(&item["arguments"]),
        (Some(_), _) => text(&item["content"][0]["text"]),
        (_, Some("tool_use")) => block["input"].clone(),
        (_, Some(_)) => text(&block["text"]),
        _ if message["content"].is_null() => text(&message["tool_calls"][0]["function"]["arguments"]),
        _ => text(&message["content"]),
    }
}

/// Status and the error's `param` of a request with a priority.
async fn with_priority(setup: Setup) -> (u16, Value) {
    let server = TestServer::start(setup).await;
    let body = json!({ "model": "qwen3-tiny", "prompt": "x", "max_tokens": 1, "priority": 1 });
    let answer = post(server.address, "/v1/completions", &body).await;
    server.stop().await;
    (answer.status.as_u16(), answer.json()["error"]["param"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cpu_engine_follows_demands_thinking_or_not() {
    let server = TestServer::start(Setup::default()).await;
    let closed = |(_, body): &(_, Value)| body["response_format"]["type"] != "json_object";
    for (path, body) in demands().into_iter().filter(closed) {
        for thinks in [true, false] {
            let arguments = json!({ "chat_template_kwargs": { "enable_thinking": thinks }, "seed": 5 });
            let body = merged(body.clone(), &arguments);
            let body =
                if path == "/v1/messages" { merged(body, &json!({ "max_tokens": 400 })) } else { body };
            let answer = post(server.address, path, &body).await;
            assert_eq!(answer.status, 200, "{path}: {body}: {:?}", answer.body);
            let value = written(&answer.json());
            assert!([1, 2].map(|n| json!({ "n": n })).contains(&value), "{path}: {body}: {value}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_reasoning_leaves_room_for_the_demanded() {
    let server = TestServer::start(Setup::default()).await;
    let end = post(server.address, "/tokenize", &json!({ "model": "qwen3-tiny", "prompt": "</think>" }))
        .await
        .json();
    let end = end["tokens"][0].as_u64().expect("a token");
    // The model never ends its reasoning by itself.
    let never = json!({ "logit_bias": { end.to_string(): -100 }, "max_tokens": 400, "temperature": 0 });
    let chats = demands().into_iter().filter(|(path, body)| {
        *path == "/v1/chat/completions" && body["response_format"]["type"] != "json_object"
    });
    for (path, body) in chats {
        let answer = post(server.address, path, &merged(body.clone(), &never)).await.json();
        let (message, usage) = (&answer["choices"][0]["message"], &answer["usage"]);
        assert!([1, 2].map(|n| json!({ "n": n })).contains(&written(&answer)), "{body}: {answer}");
        assert!(!message["reasoning_content"].is_null() || !message["reasoning"].is_null(), "{answer}");
        assert!(usage["completion_tokens"].as_u64().is_some_and(|tokens| tokens < 400), "{answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_object_is_begun_at_once_by_a_talkative_model() {
    let server = TestServer::start(Setup::default()).await;
    let body = json!({
        "model": "qwen3-tiny", "messages": [{ "role": "user", "content": "x" }], "max_tokens": 20, "seed": 5,
        "chat_template_kwargs": { "enable_thinking": false }, "response_format": { "type": "json_object" }
    });
    let answer = post(server.address, "/v1/chat/completions", &body).await.json();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    // The content is the beginning of an object: it's valid JSON except that it ends too early.
    assert!(content.starts_with('{') && content.len() > 10, "{answer}");
    match serde_json::from_str::<Value>(content) {
        Ok(whole) => assert!(whole.is_object(), "{answer}"),
        Err(error) => assert!(error.is_eof(), "{error}: {answer}"),
    }
    server.stop().await;
}

/// Schema that has too many alternatives at one place after its beginning: two thousand kinds of
/// objects.
fn outgrowing() -> Value {
    let kind = |at: usize| {
        let properties = json!({ (format!("kind_{at}")): { "const": at }, "v": { "type": "integer" } });
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    };
    let any = json!({ "anyOf": (0..2000).map(kind).collect::<Vec<_>>() });
    json!({ "type": "object", "properties": { "x": any }, "required": ["x"], "additionalProperties": false })
}

/// Endpoint, body, and the code and type of the error.
fn outgrowing_demands() -> [(&'static str, Value, Option<&'static str>, Option<&'static str>); 3] {
    let schema = outgrowing();
    let named = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } });
    let format = json!({ "type": "json_schema", "name": "n", "schema": schema });
    let messages = json!([{ "role": "user", "content": "x" }]);
    let chat = json!({ "model": "qwen3-tiny", "messages": messages });
    let anthropic = json!({ "max_tokens": 500, "output_config": { "format": format } });
    let invalid = Some("invalid_request_error");
    [
        (
            "/v1/responses",
            json!({ "model": "qwen3-tiny", "input": "x", "text": { "format": format } }),
            Some("invalid_prompt"),
            None,
        ),
        (
            "/v1/chat/completions",
            merged(chat.clone(), &json!({ "response_format": named })),
            Some("constraint_too_complex"),
            invalid,
        ),
        ("/v1/messages", merged(chat, &anthropic), None, invalid),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schema_outgrowing_the_limits_is_the_requests_fault() {
    let server = TestServer::start(Setup::default()).await;
    for (path, mut body, code, of_type) in outgrowing_demands() {
        let answer = post(server.address, path, &body).await;
        let error = &answer.json()["error"];
        assert_eq!(answer.status, 400, "{path}: {error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("grew too complex") && message.contains("Send a simpler one"), "{message}");
        assert_eq!((error["code"].as_str(), error["type"].as_str()), (code, of_type), "{path}");
        body["stream"] = json!(true);
        let stream = post(server.address, path, &body).await;
        let text = String::from_utf8_lossy(&stream.body).into_owned();
        assert!(stream.status == 200 && text.contains("grew too complex"), "{path}: {text}");
        assert!(!text.contains("server_error") && !text.contains("api_error"), "{path}: {text}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forced_calls_without_a_parser_are_refused_plainly() {
    let model = ModelOptions { parser: Some("none".to_owned()), ..Setup::default().model };
    let server = TestServer::start(Setup { model, ..Setup::default() }).await;
    let forced = demands().into_iter().filter(|(_, body)| !body["tool_choice"].is_null());
    let named = [
        json!({ "type": "function", "name": "f" }),
        json!({ "type": "function", "function": { "name": "f" } }),
        json!({ "type": "tool", "name": "f" }),
    ];
    let both = forced.zip(named).flat_map(|((path, body), named)| {
        let of_name = merged(body.clone(), &json!({ "tool_choice": named }));
        [(path, body), (path, of_name)]
    });
    let mut refused = 0;
    for (path, body) in both {
        let answer = post(server.address, path, &body).await;
        let error = &answer.json()["error"];
        assert_eq!(answer.status, 400, "{path}: {error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("tool_choice: calls can't be forced"), "{path}: {message}");
        assert!(message.contains("the parser none,") && message.contains("--parser auto"), "{message}");
        assert!(path == "/v1/messages" || error["param"] == "tool_choice", "{path}: {error}");
        refused += 1;
    }
    assert_eq!(refused, 6);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cpu_engine_follows_priorities_and_replay_refuses() {
    assert_eq!(with_priority(Setup::default()).await, (200, Value::Null));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let replay = Setup::replay(folder.path(), &json!([{ "text": "Hi." }]));
    assert_eq!(with_priority(replay).await, (400, json!("priority")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strict_tools_that_need_not_be_called_are_no_demand() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(Setup::replay(folder.path(), &json!([{ "text": "Hi." }]))).await;
    let tools =
        json!([{ "type": "function", "name": "f", "parameters": { "type": "object" }, "strict": true }]);
    let body = json!({ "model": "qwen3-tiny", "input": "x", "tools": tools });
    let answer = post(server.address, "/v1/responses", &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    assert!(!answer.headers.contains_key("x-sluice-warning"), "{:?}", answer.headers);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn input_in_a_string_of_json_follows_its_grammar() {
    let server = TestServer::start(Setup::default()).await;
    for (syntax, definition) in [
        ("regex", r#"[0-9]{3}"\\/[a-f\n]{2,4}"#),
        ("lark", "start: DIGIT~3 \"\\\"\\\\/\" (\"a\"..\"f\" | LF)~2..4\n%import common (DIGIT, LF)"),
    ] {
        for choice in ["required", "auto"] {
            let body = json!({
                "model": "qwen3-tiny", "input": "Patch it.", "tools": [custom(syntax, definition)], "tool_choice": choice,
                "reasoning": { "effort": "none" }, "max_output_tokens": 200
            });
            let answer = post(server.address, "/v1/responses", &body).await;
            assert_eq!((answer.status.as_u16(), answer.headers.get("x-sluice-warning")), (200, None));
            let answer = answer.json();
            let calls = answer["output"].as_array().expect("items").iter();
            let inputs: Vec<&str> = calls.filter_map(|item| item["input"].as_str()).collect();
            assert!(choice == "auto" || !inputs.is_empty(), "{answer}");
            for input in inputs {
                let (digits, rest) = input.split_at(3);
                let letters = rest.strip_prefix("\"\\/").expect("quote, backslash, slash");
                let is_whole =
                    digits.bytes().all(|byte| byte.is_ascii_digit()) && (2..=4).contains(&letters.len());
                assert!(is_whole && letters.chars().all(|char| "abcdef\n".contains(char)), "{input:?}");
            }
        }
    }
    server.stop().await;
}

fn custom(syntax: &str, definition: &str) -> Value {
    json!({ "type": "custom", "name": "patch", "format": { "type": "grammar", "syntax": syntax, "definition": definition } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grammar_that_the_format_cannot_carry_is_said_and_never_demanded() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(Setup::replay(folder.path(), &json!([{ "text": "Hi." }]))).await;
    let body =
        json!({ "model": "qwen3-tiny", "input": "x", "tools": [custom("lark", "start: \"a\" start?")] });
    let answer = post(server.address, "/v1/responses", &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    let said = answer.headers["x-sluice-warning"].to_str().expect("ASCII");
    let why = "the grammar of tool `patch`: start is recursive: no string of JSON can follow it";
    assert_eq!(said, format!("grammar of tool patch is not followed: {why}"));
    for choice in [json!("required"), json!({ "type": "custom", "name": "patch" })] {
        let forced = merged(body.clone(), &json!({ "tool_choice": choice }));
        let answer = post(server.address, "/v1/responses", &forced).await;
        let error = &answer.json()["error"];
        assert_eq!(answer.status, 400, "{error}");
        assert_eq!(error["param"], "tools", "{error}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("the grammar of tool \"patch\" can't be followed"), "{message}");
    }
    server.stop().await;
}
