//! Which records are kept, and what is in them.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{Recorded, errors_of, lines, replay, with};

const SECRET: &str = "Zanzibar";

fn ask(server: &Recorded, extra: &Value) {
    let body = json!({"model": "qwen3-tiny", "input": SECRET, "max_output_tokens": 8, "store": false});
    let body = with(body, extra);
    server.serving.post("/v1/responses", &body.to_string());
}

#[test]
fn records_are_private_and_hold_no_headers() {
    let server = Recorded::start("qwen3-tiny", &["--api-key", "sk-0123456789abcdef"]);
    let body = json!({"model": "qwen3-tiny", "input": "Hello!", "max_output_tokens": 4}).to_string();
    let answer = server.serving.post_with_key("/v1/responses", "sk-0123456789abcdef", &body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let records = server.stop();
    let [file] = &records.files()[..] else { panic!("{:?}", records.files()) };
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    let all = format!("{:?}", lines(file));
    assert!(!all.contains("sk-0123456789abcdef") && !all.to_lowercase().contains("x-api-key"), "{all}");
}

#[test]
fn only_failed_or_sampled_answers_are_kept() {
    let server = Recorded::start("qwen3-tiny", &["--record-sample", "0"]);
    ask(&server, &json!({}));
    assert_eq!(server.stop().files().len(), 0);

    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("s.json");
    let rules = json!({"rules": [
        {"when": {"contains": "fail"}, "text": "no", "finish": "error"}, {"text": "yes"}]});
    std::fs::write(&script, rules.to_string()).unwrap();
    let engine = format!("replay:{}", script.display());
    let server = Recorded::start("qwen3-tiny", &["--engine", &engine, "--record-failed"]);
    for input in ["fine", "fail", "fine"] {
        ask(&server, &json!({"input": input}));
    }
    let records = server.stop();
    let [file] = &records.files()[..] else { panic!("{:?}", records.files()) };
    assert_eq!(lines(file).last().unwrap()["end"]["end"], "server_error");
    records.assert_equal(1);
}

#[test]
fn refused_requests_leave_no_record() {
    let server = Recorded::start("qwen3-tiny", &["--context", "64"]);
    ask(&server, &json!({"input": "x ".repeat(400)}));
    ask(&server, &json!({"temperature": 9}));
    assert_eq!(server.stop().files().len(), 0);
}

#[test]
fn redacted_records_hold_nothing_of_the_request() {
    let server = Recorded::start("qwen3-tiny", &["--redact"]);
    ask(&server, &json!({"stream": true, "instructions": SECRET}));
    let records = server.stop();
    let [file] = &records.files()[..] else { panic!("{:?}", records.files()) };
    let all = lines(file);
    assert!(!format!("{all:?}").contains(SECRET), "{all:?}");
    assert!(
        all.iter().all(|line| line.get("events").is_none() && line["prompt"]["ids"].is_null()),
        "{all:?}"
    );
    assert!(all.iter().any(|line| line.get("step").is_some()));
    let output = replay(&records.files(), &[]);
    let error = errors_of(&output);
    assert!(!output.status.success() && error.contains("redacted") && error.lines().count() == 1, "{error}");
}
