//! `host parser template check`, `export` and `diff`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

const HERMES: &str = include_str!("../../../plugins/response-template/tests/tables/hermes.json");

fn template(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    command.args(["parser", "template"]).args(arguments).arg("--plugins").arg(plugins);
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).output().expect("the binary runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Writes a template into a file.
fn file(folder: &Path, template: &Value) -> PathBuf {
    let file = folder.join("mine.json");
    std::fs::write(&file, template.to_string()).expect("written");
    file
}

/// Exit status, and the report.
fn check(given: &Path) -> (Option<i32>, Value) {
    let output = template(&["check", text(given), "--json"]);
    assert!(output.stderr.is_empty(), "{output:?}");
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// The one line of a command that can't run.
fn refusal(arguments: &[&str]) -> String {
    let output = template(arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(error.starts_with("error: ") && error.trim_end().lines().count() == 1, "{error}");
    error
}

/// A model whose `tokenizer_config.json` has this response template.
fn model(folder: &Path, template: &str) {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
    for name in ["chat_template.jinja", "config.json", "generation_config.json", "tokenizer.json"] {
        std::fs::copy(tiny.join(name), folder.join(name)).expect("copied");
    }
    let name = "tokenizer_config.json";
    let text = std::fs::read_to_string(tiny.join(name)).expect("it has one");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    config["response_template"] = serde_json::from_str(template).expect("JSON");
    std::fs::write(folder.join(name), config.to_string()).expect("written");
}

#[test]
fn a_sound_template_is_checked_by_turns_of_its_grammars() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, report) = check(&file(folder.path(), &serde_json::from_str(HERMES).expect("JSON")));
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!((&report["refused"], &report["fit"]), (&Value::Null, &Value::Null));
    assert_eq!((&report["unforced"], &report["ambiguous"]), (&json!([]), &json!([])));
    let properties = report["properties"]["findings"].as_array().expect("a list");
    let grammar = properties.iter().find(|finding| finding["property"] == "grammar").expect("it is one");
    assert!(grammar["checks"].as_u64().expect("a number") >= 64, "{grammar}");
    // Hermes' table has no `repeats` for its message.
    let lost = report["transformers_loses"].to_string();
    assert!(lost.contains("content: of text around other regions the last part counts"), "{lost}");
}

#[test]
fn a_template_that_the_parser_refuses_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let ahead = json!({"start_anchor": "A", "fields": {
        "thinking": {"open_pattern": "<t>(?!x)", "close": "</t>"}, "content": {"open": "<t>now", "close": "<t>"},
    }});
    let (code, report) = check(&file(folder.path(), &ahead));
    assert_eq!((code, &report["properties"]), (Some(1), &Value::Null));
    assert!(
        report["refused"].as_str().expect("text").contains("field 'thinking': open_pattern: (?!"),
        "{report}"
    );
}

#[test]
fn fields_that_begin_or_end_alike_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let alike = json!({"start_anchor": "A", "fields": {
        "thinking": {"open": "<t>", "close": "</t>"}, "content": {"open": ["<t>now", "</t>"], "close": "<end>"},
    }});
    let (_, report) = check(&file(folder.path(), &alike));
    let ambiguous = report["ambiguous"].to_string();
    assert!(ambiguous.contains("thinking and content open alike"), "{ambiguous}");
    assert!(ambiguous.contains("what closes thinking opens content"), "{ambiguous}");
    let lost = report["transformers_loses"].to_string();
    assert!(lost.contains("text outside the fields is dropped"), "{lost}");
}

#[test]
fn a_models_own_template_is_held_against_its_chat_template() {
    let folder = tempfile::tempdir().expect("a folder");
    model(folder.path(), HERMES);
    let (code, report) = check(folder.path());
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["turns"], "turns that the chat template writes");
    assert!(report["properties"]["cases"].as_u64().expect("a number") > 20, "{}", report["properties"]);
    assert!(
        report["fit"]["probes"].as_array().expect("a list").iter().any(|probe| probe["verdict"] == "same")
    );

    let other = HERMES.replace("tool_call>", "call>");
    model(folder.path(), &other);
    assert_eq!(check(folder.path()).0, Some(1), "the chat template writes another call");
}

#[test]
fn a_table_is_exported_with_a_proof_that_others_can_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = template(&["export", "phi4-mini", "--proof", text(folder.path())]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let exported: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let table: Value =
        serde_json::from_str(include_str!("../../../plugins/tables/phi4-mini.json")).expect("JSON");
    assert_eq!(exported["response_template"], table["response_template"]);

    let proof = std::fs::read_to_string(folder.path().join("proof.json")).expect("written");
    let proof: Value = serde_json::from_str(&proof).expect("JSON");
    assert_eq!(proof["properties"]["passed"], true);
    let cases = std::fs::read_dir(folder.path().join("cases")).expect("written").count();
    assert_eq!(proof["properties"]["cases"], cases);
    // The exported file and the exported cases prove themselves.
    let exported = folder.path().join("response_template.json");
    let output = template(&["check", text(&exported), "--cases", text(&folder.path().join("cases"))]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[cfg(unix)]
#[test]
fn what_transformers_makes_otherwise_is_printed() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a folder");
    let case = |words: &str| json!({"options": {}, "generation_prompt": "<|im_start|>assistant\n", "chunks": [words, "<|im_end|>"]});
    let cases = folder.path().join("cases");
    std::fs::create_dir(&cases).expect("made");
    std::fs::write(cases.join("a.json"), case("alike").to_string()).expect("written");
    std::fs::write(cases.join("b.json"), case("otherwise").to_string()).expect("written");
    let given = file(folder.path(), &serde_json::from_str(HERMES).expect("JSON"));

    // It answers as the script does.
    let python = folder.path().join("python");
    let answers = r#"#!/bin/sh
cat >/dev/null
echo '{"version": "5.24.0"}'
echo '{"message": {"role": "assistant", "content": "alike"}}'
echo '{"error": "ValueError: no"}'
"#;
    std::fs::write(&python, answers).expect("written");
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).expect("it may run");
    let output = template(&["diff", text(&given), "--cases", text(&cases), "--python", text(&python)]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(printed.contains("differs b") && printed.contains("ValueError: no"), "{printed}");
    assert!(printed.contains("1 of 2 cases alike in transformers 5.24.0"), "{printed}");

    let missing = folder.path().join("nobody");
    let error = refusal(&["diff", text(&given), "--cases", text(&cases), "--python", text(&missing)]);
    assert!(error.contains("--python") && error.contains("No such file"), "{error}");
    let error = refusal(&["diff", text(&given), "--cases", text(&cases), "--python", "false"]);
    assert!(error.contains("--python false: it failed"), "{error}");
}

#[test]
fn what_is_no_template_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let none = file(folder.path(), &json!({"a": 1}));
    for (given, why) in [
        (text(&none), "neither a response_template nor a file that has one"),
        ("qwen3", "is a parser, and no table"),
        ("nobody", "neither a file, a table"),
        (text(folder.path()), "tokenizer.json"),
    ] {
        let error = refusal(&["check", given]);
        assert!(error.contains(why), "{given}: {error}");
    }
}
