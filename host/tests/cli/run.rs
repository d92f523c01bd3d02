//! `host run`: the answer on stdout, everything else on stderr, and the end as the exit status.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use serde_json::Value;

use crate::launch::long_model;
use crate::scripted_server::{EVENTS, scripted};
use crate::serve_switches::{Serving, serve, text};
use crate::serving::eventually;

/// `host` with folders of its own, and a script that the model plays.
pub(super) struct Scripted {
    pub(super) folder: tempfile::TempDir,
}

impl Scripted {
    pub(super) fn new(rules: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let replay = format!("{{\"rules\": {rules}}}");
        std::fs::write(folder.path().join("replay.json"), replay).expect("written");
        Self { folder }
    }

    pub(super) fn engine(&self) -> String {
        format!("replay:{}", text(&self.folder.path().join("replay.json")))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, content: &str) -> String {
        std::fs::write(self.path(name), content).expect("written");
        text(&self.path(name)).to_owned()
    }

    /// The command with the scripted model.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = host(arguments);
        command.args(["--engine", &self.engine()]).env("XDG_DATA_HOME", self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(&[&["run"], arguments].concat()).output().expect("the binary runs")
    }
}

/// The command, without keys of the environment.
pub(super) fn host(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(arguments).env_remove("SLUICE_API_KEY").env("RUST_LOG", "off");
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Exit status, stdout and stderr.
fn said(output: &Output) -> (Option<i32>, &str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs a command with this stdin.
fn piped(mut command: Command, stdin: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().expect("the binary runs");
    // A command that refuses what it reads may end before it has read all.
    let _ = child.stdin.take().expect("piped").write_all(stdin);
    let mut output = Output { status: ExitStatus::default(), stdout: Vec::new(), stderr: Vec::new() };
    child.stdout.take().expect("piped").read_to_end(&mut output.stdout).expect("read");
    child.stderr.take().expect("piped").read_to_end(&mut output.stderr).expect("read");
    output.status = child.wait().expect("it ends");
    output
}

pub(super) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

const THOUGHT: &str = r#"[{"text": "<think>\nHm.\n</think>\n\nHello!"}]"#;

#[test]
fn text_is_on_stdout_and_reasoning_where_asked_for() {
    let scripted = Scripted::new(THOUGHT);
    assert_eq!(said(&scripted.run(&["Hi"])), (Some(0), "Hello!\n", ""));
    assert_eq!(said(&scripted.run(&["Hi", "--think"])), (Some(0), "Hello!\n", "Hm.\n"));
    assert_eq!(said(&scripted.run(&["Hi", "--hide-thinking"])), (Some(0), "Hello!\n", ""));
}

#[test]
fn stdin_comes_before_the_prompt() {
    let both = r#"[{"when": {"contains": "diff --git\n\n\nReview"}, "text": "both"}, {"text": "one"}]"#;
    let scripted = Scripted::new(both);
    let output = piped(scripted.command(&["run", "Review this"]), b"diff --git\n");
    assert_eq!(said(&output), (Some(0), "both\n", ""));
    assert_eq!(said(&piped(scripted.command(&["run"]), b"diff --git\n")), (Some(0), "one\n", ""));
}

#[test]
fn the_response_object_is_printed_whole() {
    let scripted = Scripted::new(THOUGHT);
    let switches = ["Hi", "--json", "-s", "Be brief.", "-o", "temperature=0", "-o", "metadata.a=b"];
    let output = scripted.run(&switches);
    let (code, printed, error) = said(&output);
    let response: Value = serde_json::from_str(printed).expect("JSON");
    assert_eq!((code, error), (Some(0), ""));
    assert_eq!(
        (
            &response["status"],
            &response["instructions"],
            &response["temperature"],
            &response["metadata"]["a"]
        ),
        (&"completed".into(), &"Be brief.".into(), &0.0.into(), &"b".into())
    );
    assert_eq!(response["output"][1]["content"][0]["text"], "Hello!");
}

/// A misspelt option is no error for a server, which ignores what it doesn't know.
#[test]
fn what_the_server_ignores_is_said() {
    let scripted = Scripted::new(THOUGHT);
    let output = scripted.run(&["Hi", "-o", "temprature=0", "-o", "größe=1"]);
    let (code, printed, error) = said(&output);
    assert_eq!((code, printed, error.lines().count()), (Some(0), "Hello!\n", 1), "{error}");
    assert!(error.starts_with("warning: ") && error.contains("temprature"), "{error}");
}

#[test]
fn an_answer_follows_the_schema() {
    let scripted = Scripted::new(r#"[{"text": "{\"name\": \"Bo\"}"}]"#);
    let file = |name: &str| {
        let schema = r#"{"type": "object", "properties": {"NAME": {"type": "string"}}, "required": ["NAME"], "additionalProperties": false}"#;
        scripted.write(&format!("{name}.json"), &schema.replace("NAME", name))
    };
    let ask = |file: &str| scripted.run(&["Who?", "--schema", file, "--think=none"]);
    assert_eq!(said(&ask(&file("name"))), (Some(0), "{\"name\": \"Bo\"}\n", ""));
    let output = ask(&file("age"));
    let (code, printed, error) = said(&output);
    assert_eq!((code, printed, error.lines().count()), (Some(4), "{\"\n", 1), "{error}");
    assert!(error.contains("isn't what the request demands"), "{error}");
}

#[test]
fn the_end_of_an_answer_is_the_exit_status() {
    let ends = |finish: &str| format!(r#"[{{"text": "Some text", "finish": "{finish}"}}]"#);
    let output = Scripted::new(&ends("length")).run(&["Hi", "-o", "max_output_tokens=2"]);
    assert_eq!(said(&output), (Some(3), "So\n", "incomplete: max_output_tokens\n"));
    let output = Scripted::new(&ends("error")).run(&["Hi"]);
    let (code, printed, error) = said(&output);
    assert_eq!((code, printed, error.lines().count()), (Some(4), "Some text\n", 1));
    assert!(error.starts_with("error: "), "{error}");
}

#[test]
fn ctrl_c_stops_the_answer() {
    let scripted = Scripted::new(r#"[{"text": "begun\nand", "finish": "hang"}]"#);
    let mut command = scripted.command(&["run", "Hi"]);
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("the binary runs");
    let (mut stdout, mut line) = (BufReader::new(child.stdout.take().expect("piped")), String::new());
    stdout.read_line(&mut line).expect("a line");
    signal(&child, "-INT");
    assert_eq!((line.as_str(), child.wait().expect("it ends").code()), ("begun\n", Some(130)));
}

/// Bytes after which a pipe of Linux (64 KiB, in pages) has hardly room for more.
const FULL_PIPE: i32 = 56 << 10;

/// Number of bytes that are in a pipe.
#[allow(unsafe_code, reason = "std has no such call")]
fn unread(pipe: &impl AsRawFd) -> i32 {
    let mut count = 0;
    // SAFETY: the descriptor is open, and the call writes one number.
    let asked = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut count) };
    assert_eq!(asked, 0, "{}", std::io::Error::last_os_error());
    count
}

#[test]
fn a_second_ctrl_c_ends_what_waits_for_its_reader() {
    let word = serde_json::to_string(&"word\n".repeat(30_000)).expect("JSON");
    let scripted = Scripted::new(&format!("[{{\"text\": {word}, \"tokens_per_step\": 0}}]"));
    let model = long_model(1 << 18);
    let model = format!("--model=m={}", text(model.path()));
    let mut command = scripted.command(&["run", "Hi", &model]);
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("the binary runs");
    let (mut stdout, mut line) = (BufReader::new(child.stdout.take().expect("piped")), String::new());
    stdout.read_line(&mut line).expect("a line");
    eventually("the pipe is full", || unread(stdout.get_ref()) >= FULL_PIPE);
    while child.try_wait().expect("a child").is_none() {
        signal(&child, "-INT");
    }
    assert_eq!(child.wait().expect("it has ended").code(), Some(130));
}

#[test]
fn a_closed_output_ends_the_command_silently() {
    let many = format!("[{{\"text\": {}}}]", serde_json::to_string(&"word\n".repeat(5000)).expect("JSON"));
    let scripted = Scripted::new(&many);
    let mut command = scripted.command(&["run", "Hi"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn();
    let mut child = child.expect("the binary runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((line.as_str(), said(&output)), ("word\n", (Some(141), "", "")));
}

#[test]
fn what_is_no_text_is_refused() {
    let scripted = Scripted::new(THOUGHT);
    let output = piped(scripted.command(&["run"]), b"ab\xff\x00");
    assert_eq!(said(&output), (Some(1), "", "error: stdin is no text: byte 2 isn't UTF-8\n"));
}

#[test]
fn a_prompt_beyond_all_bounds_is_one_line() {
    let output = piped(Scripted::new(THOUGHT).command(&["run"]), &b"word ".repeat(2_000_000));
    let (code, printed, error) = said(&output);
    assert_eq!((code, printed, error.lines().count()), (Some(1), "", 1), "{error}");
    assert!(error.contains("refused the request (4"), "{error}");
}

#[test]
fn a_server_elsewhere_is_asked_with_its_key() {
    let scripted = Scripted::new(r#"[{"text": "Hello!"}]"#);
    let server = Serving::start(serve(&["--engine", &scripted.engine(), "--api-key", "k1"]));
    let ask = |key: &str, more: &[&str]| {
        let mut command = host(&[&["run", "Hi", "--url", &server.url()], more].concat());
        command.env("SLUICE_API_KEY", key).output().expect("the binary runs")
    };
    assert_eq!(said(&ask("k1", &[])), (Some(0), "Hello!\n", ""));
    let output = ask("k1", &["--model", "other"]);
    let (code, _, error) = said(&output);
    let named =
        "refused the request (404): The model `other` is not served here: name one of `qwen3-tiny`.\n";
    assert!(code == Some(1) && error.ends_with(named), "{error}");
    let output = ask("k2", &["--model", "qwen3-tiny"]);
    let (code, _, error) = said(&output);
    assert!(code == Some(1) && error.contains("refused the request (401)"), "{error}");
    let output = ask("k2", &["--key", &format!("file:{}", scripted.write("key", "k1\n"))]);
    assert_eq!(said(&output), (Some(0), "Hello!\n", ""));
}

/// Answers of servers that leave out much, break off, or are no such servers.
#[test]
fn other_servers_answers_end_in_one_line() {
    let delta = "data: {\"type\": \"response.output_text.delta\", \"delta\": \"a\"}\n\n";
    let refused = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n";
    for (answer, code, printed, error) in [
        (format!("{EVENTS}{delta}data: {{\"type\": \"response.completed\"}}\n\n"), 0, "a\n", ""),
        (format!("{EVENTS}{delta}"), 4, "a\n", "error: the stream broke off before the answer's end\n"),
        (
            format!(
                "{EVENTS}data: nonsense\n\n{delta}data: {{\"type\": \"error\", \"message\": \"no\\nmore\"}}\n\n"
            ),
            4,
            "a\n",
            "error: no\\u{a}more\n",
        ),
        (format!("{refused}{{\"detail\": \"bad\"}}"), 1, "", "refused the request (400): bad\n"),
        (format!("{refused}<html>"), 1, "", "refused the request (400): <html>\n"),
        (refused.replace("400", "502") + "<html>\n<h1>Bad", 1, "", "(502): <html> <h1>Bad\n"),
        (format!("{refused}{{\"error\": \"no room\"}}"), 1, "", "(400): no room\n"),
        (refused.to_owned(), 1, "", "(400): without a message\n"),
        ("garbage\r\n\r\n".to_owned(), 1, "", "\n"),
        (
            format!("{EVENTS}{delta}data: {{\"error\": {{\"message\": \"out\"}}}}\n\n"),
            4,
            "a\n",
            "error: out\n",
        ),
        (format!("{EVENTS}{delta}data: {{\"type\": \"resp"), 4, "a\n", "before the answer's end\n"),
        (format!("{EVENTS}{delta}data: [DONE]\n\n"), 4, "a\n", "before the answer's end\n"),
        (
            EVENTS.replace("connection: close", "transfer-encoding: chunked") + "fff\r\n" + delta,
            4,
            "a\n",
            "\n",
        ),
        (
            refused.replace("400", "404") + "{\"detail\":\"Not Found\"}",
            1,
            "",
            "it has no Responses API (/v1/responses)\n",
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/html\r\n\r\nhi".to_owned(),
            1,
            "",
            "it has no Responses API\n",
        ),
    ] {
        let models = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"data\": [{\"id\": \"m\"}]}".to_owned();
        let (url, requests) = scripted(vec![models, answer.clone()]);
        let output = host(&["run", "Hi", "--url", &url]).output().expect("the binary runs");
        let (ended, text, line) = said(&output);
        assert_eq!((ended, text), (Some(code), printed), "{answer}: {line}");
        assert!(line.ends_with(error) && line.lines().count() <= 1, "{answer}: {line}");
        let asked = requests.iter().nth(1).expect("a request");
        assert!(asked.starts_with("POST /v1/responses ") && asked.contains("\"model\":\"m\""), "{asked}");
    }
}

#[test]
fn an_answer_that_repeats_itself_is_stopped() {
    let delta = "data: {\"type\": \"response.output_text.delta\", \"delta\": \"la la \"}\n\n";
    let models = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"data\": [{\"id\": \"m\"}]}".to_owned();
    let answer = format!(
        "{EVENTS}{}data: {{\"type\": \"response.completed\", \"response\": {{\"id\": \"r\"}}}}\n\n",
        delta.repeat(2000)
    );
    let (url, _) = scripted(vec![models, answer]);
    let ask = |more: &[&str]| {
        host(&[&["run", "Sing", "--url", &url], more].concat()).output().expect("the binary runs")
    };
    let stopped = ask(&[]);
    let (code, text, error) = said(&stopped);
    assert_eq!((code, error.lines().count()), (Some(3), 1), "{error}");
    assert!(error.starts_with("incomplete: the answer repeats itself"), "{error}");
    assert!((4096..9000).contains(&text.len()), "{}", text.len());
    let bounded = ask(&["-o", "max_output_tokens=9000"]);
    assert_eq!((said(&bounded).0, bounded.stdout.len()), (Some(0), 6 * 2000 + 1));
    assert_eq!(said(&ask(&["--json"])), (Some(0), "{\"id\":\"r\"}\n", ""));
}

/// Servers that only say that they don't know the model, and one that serves what it doesn't list.
#[test]
fn names_that_a_server_lists_are_said_where_it_does_not_know_one() {
    let head = |status: &str| format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n");
    let listed: Vec<Value> = (0..30).map(|number| serde_json::json!({"id": format!("m{number}")})).collect();
    let models = head("200 OK") + &serde_json::json!({"data": listed}).to_string();
    let ask = |answer: String| {
        let (url, _requests) = scripted(vec![models.clone(), answer]);
        let output = host(&["run", "Hi", "--url", &url, "-m", "x"]).output().expect("the binary runs");
        (output, url.trim_end_matches("/v1").to_owned())
    };
    let (output, url) = ask(head("404 Not Found") + "{\"error\": {\"message\": \"unknown model\"}}");
    let (code, _, error) = said(&output);
    let first: Vec<String> = (0..16).map(|number| format!("m{number}")).collect();
    let names = format!("unknown model; {url} lists no model x, but {}, …\n", first.join(", "));
    assert!(code == Some(1) && error.ends_with(&names), "{error}");
    let (output, _) = ask(head("429 Too Many Requests") + "{\"error\": \"busy\"}");
    assert!(said(&output).2.ends_with("(429): busy\n"), "{output:?}");
    let (output, _) = ask(format!("{EVENTS}data: {{\"type\": \"response.completed\"}}\n\n"));
    assert_eq!(said(&output), (Some(0), "", ""));
}

#[test]
fn lists_of_models_that_are_none_end_in_one_line() {
    let ok = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    for (list, error) in [
        ("HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n<html>\n".to_owned(), "status 502\n"),
        (format!("{ok}<html>"), "no list of models\n"),
        (format!("{ok}{{\"data\": [{{\"object\": \"model\"}}]}}"), "no list of models\n"),
        (format!("{ok}{{\"data\": []}}"), "lists no model: name one with --model\n"),
        (format!("{ok}{}", " ".repeat(2 << 20)), "has more than 1048576 bytes\n"),
        (String::new(), "\n"),
    ] {
        let (url, _requests) = scripted(vec![list.clone()]);
        for command in ["run", "chat"] {
            let output = piped(host(&[command, "--url", &url]), b"Hi\n");
            let (ended, text, line) = said(&output);
            assert_eq!((ended, text, line.lines().count()), (Some(1), "", 1), "{command} {list:.40}: {line}");
            assert!(line.ends_with(error), "{command} {list:.40}: {line}");
        }
    }
}

#[test]
fn figures_are_said_where_asked_for() {
    let output = Scripted::new(THOUGHT).run(&["Hi", "--verbose"]);
    let (code, printed, error) = said(&output);
    assert_eq!((code, printed, error.lines().count()), (Some(0), "Hello!\n", 1));
    assert!(error.contains(" tokens in (0 cached), ") && error.ends_with(" s in all\n"), "{error}");
}
