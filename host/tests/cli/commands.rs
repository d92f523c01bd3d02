//! The binary's command line: it refuses what it can't use in one line that says what to do, with
//! exit status 1.

use std::path::Path;
use std::process::{Command, Output};

use super::serving::refused;

fn host(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary runs")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(arguments).env("RUST_LOG", "off");
    for variable in ["XDG_CACHE_HOME", "XDG_DATA_HOME"] {
        command.env(variable, env!("CARGO_TARGET_TMPDIR"));
    }
    command
}

/// Runs `host serve` on any free port with these arguments, checks that it fails, and returns the line that it
/// prints.
fn refusal(arguments: &[&str]) -> String {
    let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "0"] };
    let (error, status) = refused(command(&[&["serve"], listen, arguments].concat()));
    assert_eq!(status, 1, "{arguments:?}: {error}");
    error
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Copies the embedded model's directory except the file `without`.
pub(crate) fn model(without: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/qwen3-tiny");
    for entry in source.read_dir().expect("the model's folder") {
        let entry = entry.expect("an entry");
        if entry.file_name() != without {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("copied");
        }
    }
    folder
}

#[test]
fn models_that_are_not_there() {
    assert!(refusal(&["--model", "no-such-folder"]).contains("no such directory"));
    assert!(refusal(&["--model", path(tempfile::tempdir().expect("made").path())]).contains("config.json"));
}

#[test]
fn models_with_a_file_missing_name_the_file() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = model(file);
        let error = refusal(&["--model", path(folder.path())]);
        assert!(error.contains(file), "{file}: {error}");
    }
}

#[test]
fn models_with_a_broken_file_name_the_file() {
    for (file, content) in [
        ("config.json", "{"),
        ("config.json", r#"{"model_type": "qwen3", "architectures": ["MambaForCausalLM"]}"#),
        ("tokenizer.json", "{}"),
        ("tokenizer_config.json", "["),
        ("generation_config.json", r#"{"eos_token_id": "x"}"#),
        ("model.safetensors", "not safetensors at all"),
        ("chat_template.jinja", "{% if %}"),
        ("chat_template.jinja", "{% for m in messages %}{{ m.role }}{% endfor %}"),
    ] {
        let folder = model("");
        std::fs::write(folder.path().join(file), content).expect("written");
        let error = refusal(&["--model", path(folder.path())]);
        let named = if file == "chat_template.jinja" { "chat template" } else { file };
        assert!(error.contains(named), "{file}: {error}");
    }
}

#[test]
fn a_truncated_weights_file_is_refused() {
    let folder = model("");
    let file = folder.path().join("model.safetensors");
    let bytes = std::fs::read(&file).expect("read");
    std::fs::write(&file, &bytes[..bytes.len() / 2]).expect("written");
    assert!(refusal(&["--model", path(folder.path())]).contains("model.safetensors"));
}

#[test]
fn parsers_that_are_none() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (guest, part) in [
        ("core_module", "core module"),
        ("imports", "wasi"),
        ("wrong_version", "0.2"),
        ("no_parser", "sluice:parser"),
        ("loop_in_describe", "CPU"),
    ] {
        let file = folder.path().join(format!("{guest}.wasm"));
        std::fs::write(&file, crate::guests::guest(guest)).expect("written");
        let error = refusal(&["--parser", path(&file)]);
        assert!(error.contains(part), "{guest}: {error}");
    }
    let file = folder.path().join("garbage.wasm");
    std::fs::write(&file, "garbage").expect("written");
    assert!(refusal(&["--parser", path(&file)]).contains("not a WebAssembly component"));
    let error = refusal(&["--parser", "nobody", "--plugins", path(folder.path())]);
    assert!(error.contains("nobody") && error.contains("garbage") && error.contains("qwen3"), "{error}");
}

#[test]
fn replay_files_that_are_none() {
    assert!(refusal(&["--engine", "replay:no-such.json"]).contains("no-such.json"));
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), r#"{"rules": [{"say": "x"}]}"#).expect("written");
    assert!(refusal(&["--engine", &format!("replay:{}", path(file.path()))]).contains("rules[0]"));
}

#[test]
fn an_address_in_use_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let error = refusal(&["--listen", &address]);
    assert!(error.contains(&address) && error.contains("in use: stop what listens there"), "{error}");
}

#[test]
fn a_resumed_stream_is_linted_with_its_beginning() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("api/src/testdata/responses-long.sse");
    let text = std::fs::read_to_string(&golden).expect("read");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("written");
        path(&file).to_owned()
    };
    // It broke off inside its eleventh event, and was resumed with that.
    let resumed: String = text.split_inclusive("\n\n").skip(10).collect();
    let begun = &text[..text.len() - resumed.len() + 9];
    let (begun, rest) = (file("begun", begun), file("rest", &resumed));
    let whole = host(&["stream", "lint", &begun, &rest]);
    assert!(whole.status.success(), "{whole:?}");
    let events = |output: &Output| {
        let said = String::from_utf8_lossy(&output.stdout);
        said.rsplit_once(": ").expect("a verdict").1.to_owned()
    };
    assert_eq!(events(&whole), events(&host(&["stream", "lint", path(&golden)])));
    let late = file("late", &text.split_inclusive("\n\n").skip(11).collect::<String>());
    let missing = host(&["stream", "lint", &begun, &late]);
    let said = String::from_utf8_lossy(&missing.stdout);
    assert!(
        said.starts_with(&format!("{late}:1: event 10 ("))
            && said.contains("sequence_number is 11, expected 10"),
        "{said}"
    );
}

#[test]
fn streams_are_linted_from_files() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("api/src/testdata/responses-long.sse");
    let good = host(&["stream", "lint", path(&golden)]);
    assert!(good.status.success(), "{good:?}");
    let text = std::fs::read_to_string(&golden).expect("read");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let done = text.split_inclusive("\n\n").find(|event| event.contains("response.content_part.done"));
    let spoilt = text.replacen(done.expect("a part ends"), "", 1).replacen(
        "\"sequence_number\":3",
        "\"sequence_number\":4",
        1,
    );
    std::fs::write(file.path(), spoilt).expect("written");
    let bad = host(&["stream", "lint", path(file.path())]);
    assert_eq!(bad.status.code(), Some(1));
    let text = String::from_utf8(bad.stdout).expect("UTF-8");
    for part in [
        ":10: event 3 (",
        "rule Sequence: sequence_number is 4, expected 3; expected: sequence_number 0, 1, 2",
        "rule Order: response.content_part.done of part 0 is missing before it",
    ] {
        assert_eq!(text.matches(part).count(), 1, "{part} in {text}");
    }
    let json = host(&["stream", "lint", path(file.path()), "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!((report["protocol"].as_str(), json.status.code()), (Some("responses"), Some(1)));
    let first = &report["violations"][0];
    assert_eq!(
        (first["line"].as_u64(), first["event"].as_u64(), first["rule"].as_str()),
        (Some(10), Some(3), Some("sequence"))
    );
    assert!(first["type"].is_string() && first["expected"].is_string(), "{first}");
}

#[test]
fn a_stream_of_another_protocol_is_recognised() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let chunk = |delta: &str, reason: &str| {
        format!(
            "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\
             \"delta\":{delta},\"finish_reason\":{reason}}}]}}\n\n"
        )
    };
    let whole = chunk("{\"role\":\"assistant\",\"content\":\"\"}", "null")
        + &chunk("{}", "\"stop\"")
        + "data: [DONE]\n\n";
    std::fs::write(file.path(), &whole).expect("written");
    let recognised = host(&["stream", "lint", path(file.path())]);
    assert!(recognised.status.success(), "{recognised:?}");
    let text = String::from_utf8(recognised.stdout).expect("UTF-8");
    assert!(text.contains("stream of Chat Completions, 3 events"), "{text}");
    let other = host(&["stream", "lint", path(file.path()), "--protocol", "messages"]);
    let text = String::from_utf8(other.stdout).expect("UTF-8");
    assert_eq!(other.status.code(), Some(1));
    assert!(
        text.contains("this is a stream of Chat Completions, not of Messages: give --protocol chat"),
        "{text}"
    );
    std::fs::write(file.path(), "{\"error\": 1}").expect("written");
    let none = host(&["stream", "lint", path(file.path())]);
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8(none.stderr).expect("UTF-8").contains("--protocol"), "what to do is said");
}

/// A file without an end took all memory.
#[test]
fn a_stream_without_an_end_or_of_something_else_is_bounded() {
    let endless = host(&["stream", "lint", "/dev/zero", "--protocol", "chat"]);
    let error = String::from_utf8(endless.stderr).expect("UTF-8");
    assert_eq!((endless.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(error.contains("/dev/zero: it has more than 134217728 bytes"), "{error}");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "data: {}\n\n".repeat(50_000)).expect("written");
    let other = host(&["stream", "lint", path(file.path()), "--protocol", "responses"]);
    let text = String::from_utf8(other.stdout).expect("UTF-8");
    assert_eq!(other.status.code(), Some(1));
    assert!((1000..1100).contains(&text.lines().count()), "{}", text.lines().count());
    assert!(text.contains("; the rest was not checked"), "the last line says it");
}
