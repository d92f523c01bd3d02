//! A server in front of a server in front of a server: clients get the answers that they would get
//! directly.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::client::post;
use tests::fake_engine::{Action, FakeEngine, Identity, done, head, ids};
use tests::server::{Setup, TestServer};

#[path = "../../../host/gguf/tests/tools/mod.rs"]
mod tools;

use crate::setup::{ask, server_for, start, text};

/// Fields that differ from answer to answer, or say what a cache held.
const OWN: [&str; 11] = [
    "id",
    "call_id",
    "item_id",
    "created",
    "created_at",
    "completed_at",
    "cached_tokens",
    "prompt_tokens_details",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "input_tokens",
];

/// The answer without what is each answer's own. (Messages counts cached tokens apart from other
/// input.)
fn same(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            fields.retain(|name, _| !OWN.contains(&name.as_str()));
            fields.values_mut().for_each(|value| *value = same(value.take()));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = same(value.take())),
        _ => {}
    }
    answer
}

fn weather() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false })
}

/// Requests of all protocols, each with its path.
fn requests() -> Vec<(&'static str, Value)> {
    let question = "What is the weather in Helsinki?";
    let messages = json!([{ "role": "user", "content": question }]);
    let function =
        json!({ "name": "get_weather", "description": "Get the current weather", "parameters": weather() });
    let tools = json!([{ "type": "function", "function": function }]);
    let flat = json!([{ "type": "function", "name": "get_weather", "description": "Get the current weather", "parameters": weather(), "strict": true }]);
    let schema = json!({ "name": "city", "schema": weather(), "strict": true });
    vec![
        ("/v1/responses", json!({ "input": question, "tools": flat, "temperature": 0 })),
        (
            "/v1/responses",
            json!({ "input": question, "tools": flat, "tool_choice": "required", "temperature": 0 }),
        ),
        ("/v1/responses", json!({ "input": "Who are you?", "max_output_tokens": 9, "seed": 7 })),
        (
            "/v1/chat/completions",
            json!({ "messages": messages, "tools": tools, "temperature": 0, "logprobs": true, "top_logprobs": 3, "return_token_ids": true }),
        ),
        (
            "/v1/chat/completions",
            json!({ "messages": messages, "n": 2, "seed": 11, "max_tokens": 40, "priority": 3 }),
        ),
        (
            "/v1/chat/completions",
            json!({ "messages": messages, "temperature": 0, "reasoning_effort": "none", "response_format": { "type": "json_schema", "json_schema": schema } }),
        ),
        (
            "/v1/chat/completions",
            json!({ "messages": messages, "temperature": 0, "structured_outputs": { "choice": ["Öl ::= 😀", "Ål"] } }),
        ),
        (
            "/v1/chat/completions",
            json!({ "messages": messages, "temperature": 0, "ignore_eos": true, "min_tokens": 30, "max_tokens": 40 }),
        ),
        (
            "/v1/completions",
            json!({ "prompt": ["Hello there", [72, 105, 33]], "temperature": 0, "echo": true, "logprobs": 2, "max_tokens": 3, "return_token_ids": true }),
        ),
        (
            "/v1/completions",
            json!({ "prompt": "Hello there, who are you?", "echo": true, "logprobs": 1, "max_tokens": 0 }),
        ),
        (
            "/v1/messages",
            json!({ "messages": messages, "max_tokens": 200, "temperature": 0, "tools": [{ "name": "get_weather", "input_schema": weather() }] }),
        ),
        (
            "/v1/completions",
            json!({ "prompt": "<|im_start|>user\nHi", "max_tokens": 12, "temperature": 0, "logprobs": 2, "return_tokens_as_token_ids": true }),
        ),
        (
            "/v1/completions",
            json!({ "prompt": "Hi", "max_tokens": 12, "temperature": 0, "structured_outputs": { "regex": "[ä-ü]{3}/" } }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_before_host_before_host_answers_as_the_last() {
    let last = TestServer::start(Setup::default()).await;
    let middle = server_for(&format!("http://{}", last.address)).await;
    let first = server_for(&format!("http://{}", middle.address)).await;
    for (path, mut body) in requests() {
        body["model"] = json!("qwen3-tiny");
        let direct = post(last.address, path, &body).await;
        let through = post(first.address, path, &body).await;
        assert_eq!(direct.status, 200, "{path} {body}: {}", direct.json());
        assert_eq!(same(through.json()), same(direct.json()), "{path} {body}");
        // Streams end as whole answers do: each server checks its own streams, so the last events
        // are enough.
        body["stream"] = json!(true);
        let (direct, through) =
            (post(last.address, path, &body).await, post(first.address, path, &body).await);
        assert_eq!(said(&through.events()), said(&direct.events()), "{path} {body}");
    }
    for server in [first, middle, last] {
        server.stop().await;
    }
}

/// Trained models: name, parser (`None`: the one that claims the template), and whether the model is
/// a GGUF file.
const FORMATS: [(&str, Option<&str>, bool); 6] = [
    ("gpt-oss-tiny", None, false),
    ("kimi-tiny", None, false),
    ("qwen3-tiny", Some("qwen3-coder"), false),
    ("gpt-oss-tiny", None, true),
    ("kimi-tiny", None, true),
    ("qwen3-tiny", None, true),
];

/// Requests with a forced call, with a format, and with a tool that the model may call.
fn demands() -> [Value; 3] {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "enum": ["Oslo", "Bergen"] }, "days": { "type": "array", "items": { "type": "integer" }, "maxItems": 2 },
            "unit": { "enum": ["celsius", "fahrenheit"] } },
        "required": ["city", "days", "unit"],
        "additionalProperties": false
    });
    let tool = |parameters: Value| {
        let what = "Get the current weather";
        json!([{ "type": "function", "name": "get_weather", "description": what, "parameters": parameters, "strict": true }])
    };
    let format = json!({ "type": "json_schema", "name": "city", "schema": weather() });
    [
        json!({ "input": "Oslo?", "tools": tool(parameters), "tool_choice": "required" }),
        json!({ "input": "Oslo?", "text": { "format": format } }),
        json!({ "input": "What is the weather in Helsinki?", "tools": tool(weather()) }),
    ]
}

/// Number of an answer's calls.
fn calls(answer: &Value) -> usize {
    let items = answer["output"].as_array().expect("a list of items").iter();
    items.filter(|item| item["type"] == "function_call").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_json_pass_in_every_trained_format() {
    let files = tempfile::tempdir().expect("a temporary folder");
    for (name, parser, is_gguf) in FORMATS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/models").join(name);
        let model = if is_gguf { gguf(&folder, files.path(), name) } else { folder };
        let change = |setup: &mut Setup| {
            setup.model.model = Some(model.to_string_lossy().into_owned());
            setup.model.parser = parser.map(str::to_owned).or(setup.model.parser.take());
        };
        let mut setup = Setup::default();
        change(&mut setup);
        let last = TestServer::start(setup).await;
        let first = start(&format!("http://{}", last.address), change).await;
        // Of a parser that isn't the model's own, only forced calls are certain.
        let certain = if parser.is_some() { 2 } else { 3 };
        for mut body in demands().into_iter().take(certain) {
            (body["model"], body["temperature"], body["max_output_tokens"]) =
                (json!(name), json!(0), json!(200));
            let what = format!("{name}, GGUF: {is_gguf}, {body}");
            let direct = post(last.address, "/v1/responses", &body).await.json();
            assert_eq!(direct["status"], "completed", "{what}: {direct}");
            let through = post(first.address, "/v1/responses", &body).await.json();
            assert_eq!(same(through), same(direct.clone()), "{what}");
            assert_eq!(calls(&direct), usize::from(!body["tools"].is_null()), "{what}: {direct}");
        }
        for server in [first, last] {
            server.stop().await;
        }
    }
}

/// Makes a GGUF file of a trained model.
fn gguf(model: &Path, to: &Path, name: &str) -> PathBuf {
    let mut writer = tools::convert::convert(model);
    tools::tokens::write(&mut writer, model);
    let path = to.join(format!("{name}.gguf"));
    std::fs::write(&path, writer.finish()).expect("written");
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_salts_and_grammars_are_refused_by_a_chain() {
    let last = TestServer::start(Setup::default()).await;
    let first = server_for(&format!("http://{}", last.address)).await;
    let rules: Vec<String> = (0..3000).map(|rule| format!("r{rule}: r{}\n", rule + 1)).collect();
    let rules = rules.concat();
    let cases = [
        ("cache_salt", json!("")),
        ("cache_salt", json!("x".repeat(300))),
        ("cache_salt", json!(7)),
        ("structured_outputs", json!({ "grammar": "start: <[99999999]>" })),
        ("structured_outputs", json!({ "grammar": "start: <[4294967296]>" })),
        ("structured_outputs", json!({ "grammar": format!("start: r0\n{rules}r3000: \"a\"\n") })),
        ("structured_outputs", json!({ "choice": [] })),
    ];
    for server in [&last, &first] {
        let ask = |field: &str, value: &Value| json!({ "model": "qwen3-tiny", "prompt": "Hi", "max_tokens": 3, field: value });
        for (field, value) in &cases {
            let refused = post(server.address, "/v1/completions", &ask(field, value)).await;
            let param = refused.json()["error"]["param"].to_string();
            assert!(refused.status == 400 && param.contains(field), "{field}: {}", refused.json());
        }
        let answer = post(server.address, "/v1/completions", &ask("cache_salt", &json!("a"))).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
    }
    for server in [first, last] {
        server.stop().await;
    }
}

/// All text of a stream's events, by the path of the field that has it.
fn said(events: &[Value]) -> Vec<(String, String)> {
    let mut said: Vec<(String, String)> = Vec::new();
    for event in events {
        collect(event, "", &mut said);
    }
    said.sort_by(|(one, _), (other, _)| one.cmp(other));
    said
}

fn collect(value: &Value, path: &str, said: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            let chosen = fields.get("index").filter(|_| path.ends_with("choices/")).map(Value::to_string);
            let path = format!("{path}{}", chosen.unwrap_or_default());
            for (name, value) in fields.iter().filter(|(name, _)| !OWN.contains(&name.as_str())) {
                collect(value, &format!("{path}{name}/"), said);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, path, said)),
        // Text that was sent in pieces, of which there may be more or fewer.
        Value::String(text)
            if ["delta", "text", "content", "reasoning", "arguments", "partial_json", "thinking"]
                .iter()
                .any(|name| path.ends_with(&format!("{name}/"))) =>
        {
            match said.iter_mut().find(|(other, _)| other == path) {
                Some((_, all)) => all.push_str(text),
                None => said.push((path.to_owned(), text.clone())),
            }
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_knows_another_one_as_an_engine() {
    let last = TestServer::start(Setup::default()).await;
    let first = server_for(&format!("http://{}", last.address)).await;
    let question =
        json!({ "model": "qwen3-tiny", "prompt": "Hi", "bad_words": ["a text of several tokens"] });
    let refused = post(first.address, "/v1/completions", &question).await;
    let message = refused.json()["error"]["message"].to_string();
    let name = format!("the engine (Sluice {})", env!("CARGO_PKG_VERSION"));
    assert!(refused.status == 400 && message.contains(&name), "{message}");
    for server in [first, last] {
        server.stop().await;
    }
}

/// Events of a gateway that speaks completions: the text's pieces without ids, and all ids with the
/// end.
fn gateway(text: &str, tells_ids_first: bool) -> Vec<u8> {
    let event = |text: &str, ids: Value, finish: Value| {
        let choice = json!({ "index": 0, "text": text, "token_ids": ids, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "choices": [choice] })).into_bytes()
    };
    let all = ids(text);
    let pieces = text.split_inclusive(' ').map(|piece| event(piece, Value::Null, Value::Null));
    let first = tells_ids_first.then(|| event("", json!([]), Value::Null));
    let end = event("", json!(all), json!("stop"));
    first.into_iter().chain(pieces).chain([end, done()]).flatten().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_repeated_behind_their_text_are_not_added() {
    let answer = "<think>\n\n</think>\n\nHello there, how are you?";
    for tells_ids_first in [false, true] {
        let events = [head(), gateway(answer, tells_ids_first)].concat();
        let identity = Identity { owner: "gateway", ..Identity::default() };
        let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), move |_, _| {
            vec![Action::Send(events.clone())]
        })
        .await;
        let server = server_for(&engine.url()).await;
        let answer = ask(&server).await;
        assert_eq!(text(&answer), "Hello there, how are you?", "{}", answer.json());
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_token_of_text_is_no_stop_token() {
    let choice = json!({ "index": 0, "text": "<think>\n\n</think>\n\nHello there", "finish_reason": "stop" });
    let events =
        [head(), format!("data: {}\n\n", json!({ "choices": [choice] })).into_bytes(), done()].concat();
    let identity = Identity { owner: "gateway", ..Identity::default() };
    let engine = FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), move |_, _| {
        vec![Action::Send(events.clone())]
    })
    .await;
    let server = server_for(&engine.url()).await;
    assert_eq!(text(&ask(&server).await), "Hello there");
    server.stop().await;
}
