//! Switches of `host serve`, as an operator uses them: limits, the key of sealed reasoning, hosts
//! and origins.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

pub(super) use super::serving::{Admin, Running, Serving, log_of_start, refused, serve, text, write};

fn key() -> String {
    "0f".repeat(32) + "\n"
}

#[test]
fn zero_and_absurd_limits_are_refused_in_one_line() {
    for (switch, value, range) in [
        ("--max-body", "0", "1..=1024"),
        ("--max-body", "5000", "1..=1024"),
        ("--max-choices", "0", "1..=1024"),
        ("--max-top-logprobs", "256", "1..=255"),
        ("--grace-seconds", "0", "1..=3600"),
        ("--parser-memory", "0", "1..=1024"),
        ("--mcp-turns", "0", "1..=1024"),
    ] {
        let (error, status) = refused(serve(&[switch, value]));
        assert!(error.contains(switch) && error.contains(&format!("{value} is not in {range}")), "{error}");
        assert_eq!(status, 2, "{error}");
    }
    let (error, _) = refused(serve(&["--max-tools", "many"]));
    assert!(error.contains("--max-tools <TOOLS>"), "{error}");
    let (error, _) = refused(serve(&["--max-sequences", "9", "--max-waiting", "8"]));
    assert!(error.contains("--max-sequences 9 is more than --max-waiting 8"), "{error}");
    let keys = ["--api-key", "a,b", "--max-sequences", "9", "--max-waiting", "16"];
    let (error, _) = refused(serve(&keys));
    assert!(error.contains("--max-sequences 9 is more than half of --max-waiting 16"), "{error}");
}

#[test]
fn limits_that_were_set_hold_for_requests() {
    let names = [
        "max-choices",
        "max-stop-strings",
        "max-stop-tokens",
        "max-tools",
        "max-logit-bias",
        "max-bad-words",
    ];
    let mut arguments: Vec<String> = names.map(|name| format!("--{name}=1")).into();
    arguments.extend(
        ["--max-top-logprobs=1", "--max-bad-word=2", "--max-prompts=1", "--max-json-depth=8"]
            .map(str::to_owned),
    );
    let server = Serving::start(serve(&arguments.iter().map(String::as_str).collect::<Vec<_>>()));
    let tool = r#"{"type": "function", "function": {"name": "f"}}"#;
    for (path, field, part) in [
        ("chat/completions", r#""n": 2"#.to_owned(), "n: expected an integer from 1 to 1"),
        ("chat/completions", r#""stop": ["a", "b"]"#.to_owned(), "stop: at most 1"),
        ("chat/completions", r#""stop_token_ids": [1, 2]"#.to_owned(), "stop_token_ids: at most 1"),
        ("chat/completions", format!(r#""tools": [{tool}, {tool}]"#), "tools: at most 1"),
        ("chat/completions", r#""logit_bias": {"1": 1, "2": 1}"#.to_owned(), "logit_bias: at most 1"),
        ("chat/completions", r#""bad_words": ["a", "b"]"#.to_owned(), "bad_words: at most 1"),
        ("chat/completions", r#""bad_words": ["abc"]"#.to_owned(), "bad_words[0]: it is longer than 2"),
        (
            "chat/completions",
            r#""logprobs": true, "top_logprobs": 2"#.to_owned(),
            "top_logprobs: expected an integer from 0 to 1",
        ),
        ("chat/completions", r#""x": [[[[[[[[1]]]]]]]]"#.to_owned(), "nested deeper than 8"),
        ("completions", r#""logprobs": 2"#.to_owned(), "logprobs: expected an integer from 0 to 1"),
        ("completions", r#""prompt": ["a", "b"]"#.to_owned(), "prompt: at most 1"),
        ("responses", r#""top_logprobs": 2"#.to_owned(), "top_logprobs: expected an integer from 0 to 1"),
    ] {
        let begin = match path {
            "chat/completions" => r#""messages": [{"role": "user", "content": "x"}]"#,
            "responses" => r#""input": "x""#,
            _ if field.contains("prompt") => r#""n": 1"#,
            _ => r#""prompt": "x""#,
        };
        let answer =
            server.post(&format!("/v1/{path}"), &format!(r#"{{"model": "qwen3-tiny", {begin}, {field}}}"#));
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(part), "{field}: {answer}");
    }
}

#[test]
fn help_tells_the_limits_and_short_help_omits_them() {
    let help = |flag| String::from_utf8(serve(&[flag]).output().expect("it runs").stdout).expect("UTF-8");
    let words = help("--help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("--max-body <MIB> Size of a request's body [default: 32; 1 to 1024]"), "{words}");
    assert!(words.contains("[default: 60; 1 to 86400]"), "{words}");
    assert!(!help("-h").contains("--max-body"));
}

#[test]
fn named_key_file_is_used_or_the_start_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("seal.key");
    let named = |file: &Path| refused(serve(&["--seal-key", text(file)]));
    for (content, mode, part) in [
        (&key()[1..], 0o600, "line 1: expected a key of 64 hexadecimal digits"),
        ("", 0o600, "expected 1 to 16 keys"),
        (&format!("{}{}", key(), "\n".repeat(4096)), 0o600, "it has more than 4096 bytes: shorten it"),
        (&key(), 0o644, "its mode is 644: others have access; chmod 600 it"),
    ] {
        write(&file, content, mode);
        let (error, status) = named(&file);
        assert!(error.contains("--seal-key") && error.contains(text(&file)), "{error}");
        assert!(error.contains(part) && !error.contains("0f0f"), "{error}");
        assert_eq!(status, 1);
    }
    // These fail for every user, root included: a file below a file, and a folder in place of a
    // file.
    assert!(named(&file.join("seal.key")).0.contains("Not a directory"));
    assert!(named(folder.path()).0.contains("not a plain file"));
    let link = folder.path().join("link");
    symlink(&file, &link).expect("a link");
    assert!(named(&link).0.contains("not a plain file"));
}

#[test]
fn key_is_made_in_the_data_folder_and_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("sluice/seal.key");
    let mut keys = (0..2).map(|_| {
        let mut command = serve(&[]);
        command.env("XDG_DATA_HOME", folder.path());
        assert_eq!(log_of_start(command), "");
        assert_eq!(fs::metadata(&file).expect("it was made").permissions().mode() & 0o777, 0o600);
        fs::read_to_string(&file).expect("a key")
    });
    assert_eq!(keys.next(), keys.next());
}

#[test]
fn unwritable_data_folder_is_warned_of_with_the_loss() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut command = serve(&["--store", "memory"]);
    command.env("HOME", file.path());
    let log = log_of_start(command);
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() == 1 && lines[0].contains("WARN"), "{log}");
    assert!(log.contains("encrypted reasoning is lost at a restart") && log.contains("seal.key"), "{log}");
}

#[test]
fn wrong_key_in_the_data_folder_is_not_passed_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(folder.path().join("sluice")).expect("made");
    let file = folder.path().join("sluice/seal.key");
    for (content, mode) in [(&*key(), 0o644), ("short", 0o600)] {
        write(&file, content, mode);
        let mut command = serve(&[]);
        command.env("XDG_DATA_HOME", folder.path());
        let (error, status) = refused(command);
        assert!(error.contains(text(&file)) && error.contains("--seal-key"), "{error}");
        assert_eq!(status, 1);
        assert_eq!(fs::read_to_string(&file).expect("it stays"), content);
    }
    fs::write(&file, [0xff; 64]).expect("written");
    let mut command = serve(&[]);
    command.env("XDG_DATA_HOME", folder.path());
    assert!(refused(command).0.contains("UTF-8"));
}

#[test]
fn hosts_and_origins_that_are_none_are_refused() {
    for (switch, value, part) in [
        ("--allow-host", "http://a.example", "expected a host name without scheme or port"),
        ("--allow-host", "a.example:80", "expected a host name without scheme or port"),
        ("--cors-origin", "app.example", "expected an origin such as https://app.example"),
        ("--cors-origin", "https://app.example/x", "expected an origin such as https://app.example"),
    ] {
        let (error, _) = refused(serve(&[switch, value]));
        assert!(error.contains(switch) && error.contains(part), "{error}");
    }
}

#[test]
fn public_address_without_key_warns_before_the_banner() {
    let warned = |arguments: &[&str]| {
        let mut running = Running::start(serve(arguments));
        let lines = running.startup_lines();
        assert!(lines.iter().any(|line| line.starts_with("address ")), "it doesn't serve: {lines:?}");
        running.0.kill().expect("it runs");
        let first = lines[0].starts_with("warning  no API key: everybody who can reach 0.0.0.0:");
        (first, running.log().matches("no API key").count())
    };
    assert_eq!(warned(&["--listen", "0.0.0.0:0"]), (true, 1));
    assert_eq!(warned(&["--admin-listen", "0.0.0.0:0"]), (true, 1));
    assert_eq!(warned(&["--listen", "0.0.0.0:0", "--api-key", "secret"]), (false, 0));
    assert_eq!(warned(&[]), (false, 0));
}
