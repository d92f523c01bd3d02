//! `host parser fit`: what a chat template writes is compared with what a parser reads. The
//! templates are our own; a mutant of one differs from it in a single place.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

pub(crate) const JSON: &str = include_str!("fit/json.jinja");
pub(crate) const TAGS: &str = include_str!("fit/tags.jinja");

pub(crate) fn fit(parser: &str, template: Option<&str>, more: &[&str]) -> Output {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(["parser", "fit", parser, "--model"]).arg(model).args(more);
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    if let Some(template) = template {
        let file = folder.path().join("t.jinja");
        std::fs::write(&file, template).expect("written");
        command.arg("--chat-template").arg(file);
    }
    command.output().expect("the binary runs")
}

/// Exit status, and the report as JSON.
pub(crate) fn report(parser: &str, template: &str, more: &[&str]) -> (Option<i32>, Value) {
    let output = fit(parser, Some(template), &[&["--json"], more].concat());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// Exit status, and the verdict of each probe by its name.
fn verdicts(parser: &str, template: &str) -> (Option<i32>, Value) {
    let (code, report) = report(parser, template, &[]);
    let probes = report["probes"].as_array().expect("a list").iter();
    let verdict =
        |probe: &Value| (probe["probe"].as_str().expect("a name").to_owned(), probe["verdict"].clone());
    (code, Value::Object(probes.map(verdict).collect()))
}

#[test]
fn templates_of_their_own_format_fit() {
    for (parser, template) in [("qwen3", JSON), ("qwen3-coder", TAGS)] {
        let (code, verdicts) = verdicts(parser, template);
        assert_eq!(code, Some(0), "{parser}: {verdicts:#}");
        let others = verdicts.as_object().expect("probes").iter().filter(|(_, verdict)| *verdict != "same");
        let others: Vec<_> = others.map(|(probe, verdict)| format!("{probe} {verdict}")).collect();
        assert_eq!(others, [""; 0], "{parser}");
    }
}

#[test]
fn another_format_differs_and_the_case_is_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = fit("qwen3", Some(TAGS), &["--save", folder.path().to_str().expect("UTF-8")]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("differs one-argument, played by id, 1 characters at a time"), "{text}");
    assert!(text.contains("<function=zqalpha>"), "{text}");
    let case = std::fs::read_to_string(folder.path().join("fit-one-argument.json")).expect("saved");
    let case: Value = serde_json::from_str(&case).expect("JSON");
    assert_eq!(case["expect"]["items"][0]["name"], "zqalpha");
}

#[test]
fn mutants_fail_a_named_probe() {
    let call = "for call in message.tool_calls";
    for (what, template, parser, from, to, probe, verdict) in [
        ("delimiter", JSON, "qwen3", "</tool_call>", "</toolcall>", "two-tools", "differs"),
        (
            "null",
            TAGS,
            "qwen3-coder",
            "else value|tojson",
            "else '' if value is none else value|tojson",
            "null",
            "ambiguous",
        ),
        ("key", JSON, "qwen3", "\"arguments\"", "\"args\"", "one-argument", "differs"),
        ("type", TAGS, "qwen3-coder", "value|tojson", "(value|tojson)|tojson", "nested", "differs"),
        ("trim", TAGS, "qwen3-coder", "{{ value if", "{{ value.strip() if", "blanks", "rewritten"),
        (
            "order",
            JSON,
            "qwen3",
            call,
            "for call in (message.tool_calls or [])|reverse",
            "two-tools",
            "unshown",
        ),
        (
            "lost call",
            JSON,
            "qwen3",
            call,
            "for call in (message.tool_calls or [])[:1]",
            "two-tools",
            "unshown",
        ),
        (
            "lost reasoning",
            JSON,
            "qwen3",
            "if message.reasoning_content",
            "if false",
            "reasoning-text",
            "unshown",
        ),
        ("opening", JSON, "qwen3", ">assistant\n", ">assistant\n<zq>", "text", "unopened"),
    ] {
        assert!(template.contains(from), "{what}");
        let (_, verdicts) = verdicts(parser, &template.replace(from, to));
        assert_eq!(verdicts[probe], verdict, "{what}: {verdicts:#}");
    }
}

#[test]
fn template_without_calls_proves_nothing() {
    let silent = JSON.replace("for call in message.tool_calls", "for call in []");
    let output = fit("qwen3", Some(&silent), &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("nothing is proved, the template shows no calls"), "{text}");
    assert_eq!(fit("qwen3", Some(&silent), &["--partial"]).status.code(), Some(0));
}

#[test]
fn what_cannot_run_is_one_line_and_status_2() {
    for (parser, template) in [("qwen3", "{% if %}"), ("no-such-parser", JSON)] {
        let output = fit(parser, Some(template), &[]);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.starts_with("error: ") && error.trim_end().lines().count() == 1, "{error}");
    }
}
