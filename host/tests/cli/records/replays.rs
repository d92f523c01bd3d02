//! Recorded answers of every protocol replay to the same events.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{MODELS, Recorded, errors_of, lines, replay, text_of, with, write};
use crate::guests::guest;
use crate::serve_switches::text;
use crate::serving::eventually;

/// A schema that leaves the model some choice.
fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 8}, "days": {"type": "integer", "maximum": 9}},
        "required": ["city", "days"],
        "additionalProperties": false,
    })
}

/// Requests in all protocols: plain ones, with tools, log-probabilities, several choices, formats and
/// sealed reasoning. `seed` varies them.
fn requests(model: &str, seed: u64) -> Vec<(&'static str, Value)> {
    let question = ["What is the weather in Paris?", "Hello!", "Count to five.", "Who are you?"];
    let question = question[usize::try_from(seed).expect("small") % question.len()];
    let base = json!({"model": model, "temperature": 1.5, "stream": seed.is_multiple_of(2)});
    let asked = |extra: Value| with(base.clone(), &extra);
    let messages = json!([{"role": "user", "content": question}]);
    let parameters = json!({"name": "get_weather", "parameters": schema()});
    let function = json!({"type": "function", "function": parameters});
    let flat = json!({"type": "function", "name": "get_weather", "parameters": schema()});
    let format = json!({"type": "json_schema", "name": "trip", "schema": schema()});
    vec![
        (
            "/v1/responses",
            asked(json!({
                "input": question, "max_output_tokens": 50, "top_logprobs": 2,
                "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
            })),
        ),
        (
            "/v1/responses",
            asked(json!({
                "input": question, "max_output_tokens": 60, "tools": [flat], "tool_choice": "required",
            })),
        ),
        (
            "/v1/responses",
            asked(json!({
                "input": question, "max_output_tokens": 60, "text": {"format": format},
            })),
        ),
        (
            "/v1/chat/completions",
            asked(json!({
                "messages": messages, "max_tokens": 40, "n": 3, "logprobs": true, "top_logprobs": 3,
                "frequency_penalty": 0.5,
            })),
        ),
        (
            "/v1/chat/completions",
            asked(json!({
                "messages": messages, "max_tokens": 60, "tools": [function], "stop": ["e"],
                "stream_options": {"include_usage": true},
            })),
        ),
        (
            "/v1/messages",
            asked(json!({
                "messages": messages, "max_tokens": 50, "temperature": 1.0,
                "thinking": {"type": "enabled", "budget_tokens": 1024},
            })),
        ),
        (
            "/v1/completions",
            asked(json!({
                "prompt": [question, "The"], "max_tokens": 20, "n": 2, "logprobs": 2, "echo": true,
            })),
        ),
    ]
}

#[test]
fn answers_of_all_protocols_and_families_replay_equal() {
    // By night a thousand and more.
    let rounds = std::env::var("SLUICE_REPLAYS").map_or(21, |count| count.parse().unwrap());
    let rounds = u64::div_ceil(rounds, 21) * 2;
    for name in MODELS {
        let server = Recorded::start(name, &["--seal-key", "none"]);
        let mut count = 0;
        for (path, body) in (0..rounds).flat_map(|seed| requests(name, seed)) {
            server.post(path, &body);
            count += 1;
        }
        server.stop().assert_equal(count);
    }
}

#[test]
fn conversations_in_the_store_replay_equal() {
    let server = Recorded::start("qwen3-tiny", &["--seal-key", "none"]);
    let base = json!({"model": "qwen3-tiny", "input": "Hello!", "max_output_tokens": 20});
    let ask = |extra: Value| {
        let answer = server.post("/v1/responses", &with(base.clone(), &extra));
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let first = ask(json!({}));
    let second = ask(json!({"previous_response_id": first["id"]}));
    ask(json!({"previous_response_id": second["id"], "input": [{"role": "user", "content": "And?"}]}));
    let waiting = ask(json!({"background": true}));
    let id = waiting["id"].as_str().unwrap();
    let under_way = ["\"status\":\"queued\"", "\"status\":\"in_progress\""];
    eventually("it ends", || {
        let response = server.serving.get(&format!("/v1/responses/{id}"));
        !under_way.iter().any(|status| response.contains(status))
    });
    server.post(
        "/v1/responses/compact",
        &json!({"model": "qwen3-tiny", "input": [
            {"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi!"},
            {"role": "user", "content": "How are you?"},
        ]}),
    );
    server.stop().assert_equal(5);
}

/// What a client ends is in the record as the tokens that came of it.
#[test]
fn reasoning_that_its_client_ends_replays_equal() {
    let server = Recorded::start("qwen3-tiny", &["--seal-key", "none"]);
    let forbidden: serde_json::Map<_, _> =
        (704..713).filter(|id| *id != 707).map(|id| (id.to_string(), json!(-100))).collect();
    let body = json!({"model": "qwen3-tiny", "input": "Hello!", "background": true, "temperature": 1.0,
        "max_output_tokens": 2000, "logit_bias": forbidden, "include": ["message.output_text.logprobs"]});
    let waiting: Value = serde_json::from_str(&server.post("/v1/responses", &body)).unwrap();
    let path = format!("/v1/responses/{}", waiting["id"].as_str().unwrap());
    eventually("it thinks", || {
        server.serving.post(&format!("{path}/end_reasoning"), "").starts_with("HTTP/1.1 200")
    });
    eventually("it ends", || server.serving.get(&path).contains("\"status\":\"incomplete\""));
    let answer = server.serving.get(&path);
    let (_, response) = answer.split_once("\r\n\r\n").unwrap();
    let response: Value = serde_json::from_str(response).unwrap();
    // Nothing else can have ended the reasoning, which is followed by an answer, or by more of it.
    assert!(response["output"].as_array().unwrap().len() > 1, "{response}");
    server.stop().assert_equal(1);
}

/// An answer that a remote engine was asked for twice: its second part is in the record behind its first.
#[test]
fn reasoning_that_ends_on_a_server_behind_replays_equal() {
    let behind = Recorded::start("qwen3-tiny", &[]);
    let server = Recorded::start("qwen3-tiny", &["--engine", &behind.serving.url()]);
    for (path, extra) in [
        ("/v1/responses", json!({"input": "Hello!", "reasoning": {"max_tokens": 3}})),
        (
            "/v1/chat/completions",
            json!({"messages": [{"role": "user", "content": "Hello!"}], "n": 2, "thinking_token_budget": 3}),
        ),
    ] {
        let body = json!({"model": "qwen3-tiny", "temperature": 0.0, "stream": true});
        server.post(path, &with(body, &extra));
    }
    server.stop().assert_equal(2);
    // Every answer was asked for once more behind its thoughts.
    assert_eq!(behind.stop().files().len(), 6);
}

/// Sealed reasoning is opened by the server's key, in the name of whoever it belongs to.
#[test]
fn answers_to_sealed_reasoning_replay_equal_with_the_servers_key() {
    let folder = tempfile::tempdir().unwrap();
    let (key, script) = (folder.path().join("seal.key"), folder.path().join("script.json"));
    std::fs::write(&script, r#"{"rules": [{"text": "<think>\nIt is mauve.\n</think>\n\nHi."}]}"#).unwrap();
    let engine = format!("replay:{}", script.display());
    let server = Recorded::start(
        "qwen3-tiny",
        &["--seal-key", text(&key), "--engine", &engine, "--parser", "qwen3", "--api-key", "ada=secret"],
    );
    let base = json!({"model": "qwen3-tiny", "store": false, "include": ["reasoning.encrypted_content"]});
    let ask = |input: &Value| {
        let body = with(base.clone(), &json!({ "input": input })).to_string();
        let answer = server.serving.post_with_key("/v1/responses", "secret", &body);
        serde_json::from_str::<Value>(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let question = json!({"role": "user", "content": "And?"});
    let mut input = ask(&json!("Hello!"))["output"].as_array().unwrap().clone();
    assert!(input[0]["encrypted_content"].is_string(), "{input:?}");
    input.push(question);
    assert_eq!(ask(&json!(input))["status"], "completed");
    let records = server.stop();
    assert!(!records.replay(&[]).status.success());
    let output = records.replay(&["--seal-key", text(&key)]);
    let out = text_of(&output.stdout);
    assert!(output.status.success(), "{out}{}", text_of(&output.stderr));
    assert_eq!(out.matches(": equal, ").count(), 2, "{out}");
    // A record that names another owner opens nothing.
    let (file, mut lines) = (folder.path().join("foreign.slrec"), lines(&records.files()[1]));
    for owner in [json!("bob"), json!(null), json!("local"), json!("ad"), json!("ada\u{0}")] {
        lines[0]["head"]["owner"] = owner;
        write(&file, &lines);
        let output = replay(std::slice::from_ref(&file), &["--seal-key", text(&key)]);
        let (out, error) = (text_of(&output.stdout), errors_of(&output));
        assert_eq!((output.status.code(), out.as_str(), error.lines().count()), (Some(1), "", 1), "{error}");
        assert!(
            error.contains("its request can't be read: ") && error.contains("something or somebody else"),
            "{error}"
        );
    }
}

/// Parsers that fail, each in its own way.
#[test]
fn answers_of_parsers_that_fail_replay_equal() {
    for name in
        ["trap_in_text", "trap_later", "trap_in_finish", "fault_in_text", "op_flood", "bytes_beyond_held"]
    {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.wasm");
        std::fs::write(&file, guest(name)).unwrap();
        let server = Recorded::start("qwen3-tiny", &["--parser", text(&file)]);
        let body = json!({"model": "qwen3-tiny", "input": "Hello!", "max_output_tokens": 20});
        for stream in [false, true] {
            let mut body = body.clone();
            body["stream"] = stream.into();
            // A failed answer in one piece has the status of a server error.
            server.serving.post("/v1/responses", &body.to_string());
        }
        server.stop().assert_equal(2);
    }
}

/// An answer that goes on until its client leaves, or the server stops.
#[test]
fn answers_that_were_broken_off_replay_equal() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("hang.json");
    std::fs::write(&script, r#"{"rules": [{"text": "<think>\nIt goes on", "finish": "hang"}]}"#).unwrap();
    let engine = format!("replay:{}", script.display());
    let server = Recorded::start("qwen3-tiny", &["--engine", &engine, "--grace-seconds", "1"]);
    let body = json!({"model": "qwen3-tiny", "input": "Hello!", "stream": true, "store": false}).to_string();
    let begin = || {
        let address = server.serving.url();
        let address = address.strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut seen = Vec::new();
        while String::from_utf8_lossy(&seen).matches("reasoning_text.delta").count() < 4 {
            let mut part = [0; 4096];
            let read = stream.read(&mut part).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&part[..read]);
        }
        stream
    };
    drop(begin());
    let _stays = begin();
    server.stop().assert_equal(2);
}
