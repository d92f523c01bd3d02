//! Versions of the contract on the command line: what lists, `inspect` and `--version` say of them,
//! and `--draft-contracts`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::serving::refused;
use crate::guests::{DRAFT, Export, exporting};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(arguments).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).env("RUST_LOG", "off");
    command
}

fn printed(arguments: &[&str]) -> String {
    let output = command(arguments).output().expect("the binary runs");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The only line of a command that fails.
fn refusal(arguments: &[&str]) -> String {
    let (line, status) = refused(command(arguments));
    assert_eq!(status, 1, "{line}");
    line
}

/// Makes a folder with a component of both versions, and one of the draft alone.
fn plugins() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Export { guest: "healthy", version: "0.1.0", edits: &[] };
    std::fs::write(folder.path().join("both.wasm"), exporting(&[first, DRAFT])).expect("written");
    std::fs::write(folder.path().join("draft.wasm"), exporting(&[DRAFT])).expect("written");
    folder
}

const CURE: &str = "exports sluice:parser/parser@0.2.0-draft, a draft of the contract: allow it with --draft-contracts, or take";

#[test]
fn version_names_the_contracts_the_host_speaks() {
    assert_eq!(
        printed(&["--version"]).trim_end(),
        "host 0.1.0 (parser contract 0.1; with --draft-contracts a draft of 0.2 too)"
    );
}

#[test]
fn version_says_what_the_binary_is_made_of() {
    let said: Value = serde_json::from_str(&printed(&["version", "--json"])).expect("JSON");
    let commit = option_env!("SLUICE_COMMIT").filter(|commit| !commit.is_empty());
    assert_eq!((&said["version"], &said["commit"]), (&json!("0.1.0"), &json!(commit)));
    let contracts = json!([
        {"version": "0.2-draft", "package": "0.2.0-draft", "draft": true},
        {"version": "0.1", "package": "0.1.0", "draft": false},
    ]);
    assert_eq!(said["contracts"], contracts);
    let engines: Vec<_> =
        said["engines"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(engines, ["cpu", "cuda", "remote", "replay"]);
    let lines = printed(&["version"]);
    let beginnings: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    let expected = ["version", "commit", "contract", "contract", "engine", "engine", "engine", "engine"];
    assert_eq!(beginnings, expected, "{lines}");
    assert!(
        lines.contains("\nengine   remote: servers of the kinds openai, vllm, sglang, llamacpp, gateway\n"),
        "{lines}"
    );
}

#[test]
fn a_list_has_each_parsers_version_of_the_contract() {
    let folder = plugins();
    let list = |more: &[&str]| {
        let arguments = ["parser", "list", "--json", "--plugins", folder.path().to_str().expect("UTF-8")];
        serde_json::from_str::<Vec<Value>>(&printed(&[&arguments[..], more].concat())).expect("JSON")
    };
    let rows = list(&[]);
    assert_eq!(rows[0]["contract"], "0.1");
    assert!(rows[1]["error"].as_str().expect("refused").starts_with(CURE), "{}", rows[1]);
    let rows = list(&["--draft-contracts"]);
    assert_eq!((&rows[0]["contract"], &rows[1]["contract"]), (&"0.2-draft".into(), &"0.2-draft".into()));
    let shipped = rows.iter().find(|row| row["file"] == "qwen3").expect("it is shipped");
    assert_eq!(shipped["contract"], "0.1");
}

#[test]
fn draft_is_inspected_tested_and_served_if_switched() {
    let folder = plugins();
    let file = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (both, draft) = (file("both.wasm"), file("draft.wasm"));
    let case = Path::new(&folder.path().join("cases")).join("one.json");
    std::fs::create_dir(case.parent().expect("a folder")).expect("made");
    let expect = r#"{"items": [{"type": "tool_call", "name": "f", "arguments": "{}"}], "end": "completed"}"#;
    std::fs::write(
        &case,
        format!(r#"{{"tools": ["f"], "chunks": ["f abcdefghi {{}}"], "expect": {expect}}}"#),
    )
    .expect("written");
    let case = case.to_str().expect("UTF-8");
    for command in [&["inspect", &draft][..], &["run", &draft, "--case", case]] {
        let command = [&["parser"], command].concat();
        let line = refusal(&command);
        assert!(line.contains(CURE), "{line}");
        printed(&[&command[..], &["--draft-contracts"]].concat());
    }
    let contract = |more: &[&str]| {
        let words = printed(&[&["parser", "inspect", &both][..], more].concat());
        let line = words.lines().find(|line| line.starts_with("contract ")).expect("a line").to_owned();
        line.split_whitespace().last().expect("a word").to_owned()
    };
    assert_eq!((&*contract(&[]), &*contract(&["--draft-contracts"])), ("0.1", "0.2-draft"));
    let line = refusal(&["serve", "--listen", "127.0.0.1:0", "--store", "none", "--parser", &draft]);
    assert!(line.contains(CURE), "{line}");
}
