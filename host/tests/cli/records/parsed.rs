//! Records as material for parsers: other parsers' items, cases, and scripts.

use serde_json::{Value, json};

use super::{Recorded, host, model, replay, text_of};
use crate::serve_switches::{Serving, text};

fn call(model: &str) -> Value {
    json!({
        "model": model, "max_tokens": 80, "tool_choice": "required", "temperature": 0,
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters":
            {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"]}}}],
    })
}

/// Runs a command that must succeed; returns what it prints.
fn printed(arguments: &[&str]) -> String {
    let output = host().args(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", text_of(&output.stderr));
    text_of(&output.stdout)
}

#[test]
fn other_parsers_items_are_shown_as_a_diff() {
    for redact in [&[][..], &["--redact"]] {
        let server = Recorded::start("gpt-oss-tiny", redact);
        server.post("/v1/chat/completions", &call("gpt-oss-tiny"));
        let records = server.stop();
        let output = replay(&records.files(), &["--parser", "none"]);
        let out = text_of(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{out}{}", text_of(&output.stderr));
        let with = |mark| out.lines().filter(|line| line.starts_with(mark)).collect::<Vec<_>>();
        assert!(
            with("- ").iter().any(|line| line.contains(r#""type":"tool_call","name":"get_weather""#)),
            "{out}"
        );
        assert!(with("+ ").iter().any(|line| line.contains(r#""type":"message""#)), "{out}");
        assert_eq!(with("  "), [r#"  {"end":"completed"}"#]);
        let same = replay(&records.files(), &["--parser", "harmony"]);
        assert!(same.status.success(), "{}", text_of(&same.stdout));
    }
}

#[test]
fn records_become_cases_that_hold() {
    for (name, parser) in [("qwen3-tiny", "qwen3"), ("gpt-oss-tiny", "harmony"), ("kimi-tiny", "kimi-k2")] {
        let server = Recorded::start(name, &[]);
        server.post("/v1/chat/completions", &call(name));
        let messages = json!([{"role": "user", "content": "Hello!"}]);
        server.post("/v1/chat/completions", &json!({"model": name, "messages": messages, "max_tokens": 9}));
        let records = server.stop();
        let cases = tempfile::tempdir().unwrap();
        for (number, file) in records.files().iter().enumerate() {
            let case = printed(&["parser", "case", text(file), "--about", "It was recorded."]);
            std::fs::write(cases.path().join(format!("{number}.json")), &case).unwrap();
            let items = &serde_json::from_str::<Value>(&case).unwrap()["expect"]["items"];
            assert!(!items.as_array().unwrap().is_empty(), "{case}");
        }
        let out = printed(&["parser", "test", parser, "--cases", text(cases.path())]);
        assert!(!out.contains("FAIL"), "{out}");
    }
}

#[test]
fn recorded_answers_show_whether_a_parser_fits() {
    let server = Recorded::start("qwen3-tiny", &[]);
    server.post("/v1/chat/completions", &call("qwen3-tiny"));
    let records = server.stop();
    let folder = records.0.path().join("records");
    let recorded = |parser: &str| {
        let model = model("qwen3-tiny");
        let arguments = ["parser", "fit", parser, "--model", &model, "--recorded", text(&folder), "--json"];
        let output = host().args(arguments).output().expect("the binary runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        report["recorded"].clone()
    };
    let read = recorded("qwen3");
    assert_eq!((&read[0]["why"], read.as_array().map(Vec::len)), (&json!([]), Some(1)), "{read:#}");
    assert!(read[0]["items"].as_array().expect("a list").iter().any(|item| item["name"] == "get_weather"));
    let misread = recorded("apertus");
    assert!(misread[0]["why"][0].as_str().expect("a reason").contains("markup <think>"), "{misread:#}");
}

#[test]
fn a_record_is_a_script_for_the_replay_engine() {
    let server = Recorded::start("gpt-oss-tiny", &[]);
    let ask = |server: &Serving| {
        let answer = server.post("/v1/chat/completions", &call("gpt-oss-tiny").to_string());
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        body["choices"][0]["message"]["tool_calls"][0]["function"].clone()
    };
    let first = ask(&server.serving);
    let records = server.stop();
    let engine = format!("replay:{}", records.files()[0].display());
    let mut command = host();
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", "none", "--model", &model("gpt-oss-tiny")]);
    let again = ask(&Serving::start({
        command.args(["--engine", &engine]);
        command
    }));
    assert_eq!(first["name"], "get_weather");
    assert_eq!(again, first);
}
