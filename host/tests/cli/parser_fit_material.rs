//! `host parser fit` with cases and recorded output, and with mutants of a table.

use std::path::Path;

use serde_json::{Value, json};

use crate::parser_fit::{JSON, TAGS, fit, report};

const TABLE: &str = include_str!("fit/tags.json");

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn write(folder: &Path, name: &str, content: &str) {
    std::fs::write(folder.join(name), content).expect("written");
}

/// A case of a turn that thinks, speaks and calls.
fn case() -> Value {
    let call = "{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo\", \"day\": 3}}";
    json!({
        "tools": ["get"], "generation_prompt": "<|im_start|>assistant\n",
        "chunks": [format!("<think>\nSo be it.\n</think>\n\nI look.\n<tool_call>\n{call}\n</tool_call>")],
        "expect": { "items": [
            { "type": "reasoning", "text": "So be it." },
            { "type": "message", "text": "I look." },
            { "type": "tool_call", "name": "get", "arguments": "{\"city\": \"Oslo\", \"day\": 3}" },
        ] },
    })
}

#[test]
fn lost_items_of_cases_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "turn.json", &case().to_string());
    let lost = |template: &str| {
        let (code, fit) = report("qwen3", template, &["--cases", text(folder.path())]);
        assert_eq!((code, &fit["cases"][0]["case"]), (Some(0), &"turn".into()), "{fit:#}");
        fit["cases"][0]["lost"].clone()
    };
    assert_eq!(lost(JSON), json!([]));
    let (reasoning, content) = ("if message.reasoning_content", "{{ message.content }}");
    let without_reasoning = JSON.replace(reasoning, "if false");
    assert_eq!(lost(&without_reasoning), json!(["reasoning"]));
    let without_text = JSON.replace(content, "{{ '' if message.tool_calls else message.content }}");
    assert_eq!(lost(&without_text), json!(["text"]));
    let without_city = JSON.replace("|tojson }}}", "|tojson|replace('Oslo', '') }}}");
    assert_eq!(lost(&without_city), json!(["argument city of get"]));
    let (_, fit) = report("qwen3", JSON, &["--cases", text(folder.path())]);
    assert_eq!(fit["probes"].as_array().map(Vec::len), Some(33));
}

#[test]
fn recorded_outputs_are_played() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = case();
    let raw = whole["chunks"][0].as_str().expect("a text").to_owned();
    let mut wrong = whole.clone();
    wrong["expect"]["items"] = json!([]);
    write(folder.path(), "a-right.json", &whole.to_string());
    write(folder.path(), "b-wrong.json", &wrong.to_string());
    write(folder.path(), "c-raw.txt", &raw);
    write(folder.path(), "d-markup.txt", "It is <tool_call> all.");
    write(folder.path(), "e-broken.txt", raw.split("Oslo").next().expect("a beginning"));
    write(folder.path(), "tools.json", "[\"get\"]");
    let (code, fit) = report("qwen3", JSON, &["--recorded", text(folder.path())]);
    assert_eq!(code, Some(1));
    let recorded = fit["recorded"].as_array().expect("a list");
    let why = |output: &Value| {
        let lines = output["why"].as_array().expect("a list").iter().filter_map(Value::as_str);
        (output["name"].as_str().expect("a name").to_owned(), lines.collect::<Vec<_>>().join("; "))
    };
    let came: Vec<_> = recorded.iter().map(why).collect();
    let names: Vec<_> = came.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a-right.json", "b-wrong.json", "c-raw.txt", "d-markup.txt", "e-broken.txt"]);
    assert_eq!([&came[0].1, &came[2].1], [""; 2]);
    assert_eq!(came[1].1, "the items aren't the expected ones");
    assert_eq!(came[3].1, "the text holds the markup <tool_call>");
    assert!(came[4].1.contains("the call of \"get\" was broken off"), "{}", came[4].1);
    assert_eq!(recorded[2]["items"].as_array().map(Vec::len), Some(3));
}

#[test]
fn material_that_is_missing_is_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for switch in ["--cases", "--recorded"] {
        for path in [folder.path(), &folder.path().join("missing")] {
            let output = fit("qwen3", Some(JSON), &[switch, text(path)]);
            let error = String::from_utf8(output.stderr).expect("UTF-8");
            assert_eq!((output.status.code(), error.trim_end().lines().count()), (Some(2), 1), "{error}");
            assert!(error.starts_with(&format!("error: {switch}")), "{error}");
        }
    }
}

/// The probes of a table that read otherwise than the template writes.
fn differing(table: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "mine.json", table);
    let (_, fit) = report(text(&folder.path().join("mine.json")), TAGS, &[]);
    let probes = fit["probes"].as_array().expect("a list").iter();
    let differing = probes.filter(|probe| probe["verdict"] == "differs");
    differing.map(|probe| probe["probe"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn mutants_of_a_table_fail_a_named_probe() {
    assert_eq!(differing(TABLE), [""; 0]);
    for (what, from, to, probe) in [
        ("delimiter", "</parameter>", "</param>", "one-argument"),
        ("trim", "\"</think>\"", "\"</think>\", \"content_args\": { \"strip\": false }", "reasoning-text"),
        ("kind", "<think>", "<thought>", "reasoning-call"),
        ("lost call", r"</function>\\s*</tool_call>", r"<\\|im_end\\|>", "no-arguments-first"),
        ("name", "<function=(?P<name>", "<function(?P<name>", "another-name"),
    ] {
        assert!(TABLE.contains(from), "{what}");
        let differing = differing(&TABLE.replace(from, to));
        assert!(differing.iter().any(|name| name == probe), "{what}: {differing:?}");
    }
}

/// A folder of outputs may be anybody's.
#[test]
fn files_of_recorded_outputs_are_regular_and_bounded() {
    for (name, says) in [("a.txt", "a.txt: no regular file"), ("a.json", "a.json: no regular file")] {
        let folder = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink("/dev/zero", folder.path().join(name)).expect("linked");
        let output = fit("qwen3", Some(JSON), &["--recorded", text(folder.path())]);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.contains(says), "{error}");
    }
}
