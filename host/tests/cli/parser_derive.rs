//! `host parser derive`: a parser is written from what a chat template of our own writes, and passes
//! what `host parser test` and `host parser fit` check.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const OUTSIDE: &str = include_str!("../../fit/tests/derive/outside.jinja");
const BRACKETS: &str = include_str!("../../fit/tests/derive/brackets.jinja");

fn host(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(arguments).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.output().expect("the binary runs")
}

/// Runs `derive` with this template, into `folder`.
fn derive(template: &str, folder: &Path, more: &[&str]) -> Output {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
    let file = folder.join("t.jinja");
    std::fs::write(&file, template).expect("written");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let fixed =
        ["parser", "derive", "--name", "mine", "--model", &path(&model), "--chat-template", &path(&file)];
    let out = path(folder);
    host(&[&fixed[..], &["--out", &out], more].concat())
}

#[test]
fn derived_table_passes_test_and_fit() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = derive(OUTSIDE, folder.path(), &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("calls      proved") && text.contains("host parser fit   fits"), "{text}");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (table, cases) = (path("mine.json"), path("mine/cases"));
    let tested =
        host(&["parser", "test", &table, "--cases", &cases, "--case", "three_calls_by_text", "--json"]);
    let report: Value = serde_json::from_slice(&tested.stdout).expect("JSON");
    assert_eq!((tested.status.code(), &report["passed"]), (Some(0), &Value::Bool(true)), "{report:#}");
    let again = derive(OUTSIDE, folder.path(), &[]);
    assert_eq!(again.status.code(), Some(2), "a table isn't overwritten");
}

#[test]
fn installed_parser_that_fits_is_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = derive(include_str!("fit/json.jinja"), folder.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "qwen3 fits: --parser qwen3\n");
    assert!(!folder.path().join("mine.json").exists());
}

#[test]
fn refused_template_is_one_line_and_status_3() {
    let folder = tempfile::tempdir().expect("a folder");
    let lost = OUTSIDE.replace("for call in message.tool_calls", "for call in message.tool_calls[:1]");
    let output = derive(&lost, folder.path(), &[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.starts_with("error: no parser derived: several calls vanish"), "{error}");
    assert!(error.ends_with("(probe two-tools)\n") && error.lines().count() == 1, "{error}");
}

#[test]
fn format_that_no_table_says_becomes_a_crate() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = derive(BRACKETS, folder.path(), &["--force"]);
    assert_eq!(output.status.code(), Some(1), "it isn't built: {output:?}");
    let source = std::fs::read_to_string(folder.path().join("mine/src/lib.rs")).expect("a crate");
    for mark in ["(\"[THINK]\", Mark::Think)", "(\"[CALL]\", Mark::Call)", "(\"[ARGS]\", Mark::Separator)"] {
        assert!(source.contains(mark), "{source}");
    }
    assert!(source.contains("pub type Mine = Sections<MineFormat>;"), "{source}");
    // The crate isn't built by day: the trait that it implements is one of the SDK that comes with it.
    let sdk =
        std::fs::read_to_string(folder.path().join("mine/vendor/sdk/src/sections/mod.rs")).expect("an SDK");
    assert!(
        source.contains("impl Format for MineFormat {") && sdk.contains("pub trait Format {"),
        "{source}"
    );
}

#[test]
#[ignore = "builds a crate: tests/nightly.sh"]
fn derived_crate_is_built_and_passes_test() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = derive(BRACKETS, folder.path(), &["--force", "--build"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let tested = host(&["parser", "test", &path("mine.wasm"), "--cases", &path("mine/cases"), "--json"]);
    let report: Value = serde_json::from_slice(&tested.stdout).expect("JSON");
    assert_eq!((tested.status.code(), &report["passed"]), (Some(0), &Value::Bool(true)), "{report:#}");
}
