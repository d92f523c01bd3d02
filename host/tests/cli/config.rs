//! `--config`: a file of switches, what counts more than it, and what of it a signal brings into a
//! running server.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::serve_switches::{Serving, refused, serve, text, write};
use super::serving::eventually;

/// A file in a folder of its own.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new(content: &str) -> Self {
        let file = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        file.replace(content);
        file
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sluice.toml")
    }

    fn replace(&self, content: &str) {
        write(&self.path(), content, 0o600);
    }

    /// `host serve` with this file and further switches.
    fn serve(&self, arguments: &[&str]) -> Command {
        let path = self.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
        command.args(["serve", "--config", text(&path)]).args(arguments);
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).env("RUST_LOG", "info");
        command.env("XDG_DATA_HOME", self.folder.path()).env_remove("SLUICE_API_KEY");
        command
    }

    /// The one line of an error; `{file}` stands for the path.
    fn refusal(&self, arguments: &[&str]) -> String {
        refused(self.serve(arguments)).0.replace(text(&self.path()), "{file}")
    }

    /// Lines of the settings with these switches; `{file}` stands for the path.
    fn settings(&self, arguments: &[&str]) -> Vec<String> {
        let printed = printed(&mut self.serve(arguments)).replace(text(&self.path()), "{file}");
        printed.lines().map(str::to_owned).collect()
    }
}

/// What `--print-config` prints.
fn printed(command: &mut Command) -> String {
    let output = command.arg("--print-config").output().expect("the binary runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn tiny(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models").join(name).display().to_string()
}

#[test]
fn switches_count_most_then_variables_then_the_file() {
    let file = File::new("listen = 0\nkv-cache = 64\nallow-host = ['a', 'b']\ncheck-streams = true\n");
    let lines = file.settings(&["--kv-cache", "128"]);
    for line in [
        "listen = 0  # {file}:1",
        "kv-cache = 128  # switch",
        r#"allow-host = ["a", "b"]  # {file}:3"#,
        "check-streams = true  # {file}:4",
        "reasoning-events = \"text\"  # default",
    ] {
        assert!(lines.iter().any(|printed| printed == line), "{line}: {lines:#?}");
    }
    let lines = file.settings(&["--allow-host", "c"]);
    assert!(lines.iter().any(|line| line == r#"allow-host = ["c"]  # switch"#), "{lines:#?}");
    file.replace("api-key = 'alice=hidden'\n");
    let mut command = file.serve(&[]);
    let of_the_file = printed(&mut command);
    let of_the_variable = printed(file.serve(&[]).env("SLUICE_API_KEY", "hidden-too"));
    assert!(of_the_file.contains("# api-key = \"***\"  # ") && of_the_file.contains("sluice.toml:1\n"));
    assert!(of_the_variable.contains("# api-key = \"***\"  # environment SLUICE_API_KEY\n"));
    assert!(!of_the_file.contains("hidden") && !of_the_variable.contains("hidden"));
}

#[test]
fn settings_that_are_printed_can_be_read_again() {
    let written = "cors-origin = 'https://a'\nreasoning-budget = ['low=512', 'default=4096']\n[model.small]\npath = 'x=y/z'\naliases = ['s', 't']\n\
                   parser-option = ['a=b', 'c=d=e']\ncontext = 0x100\n[model.'Big-1.5']\npath = 'org/big'\n";
    let values = |text: &str| {
        let line = |line: &str| line.split("  # ").next().unwrap_or_default().to_owned();
        text.lines().map(line).collect::<Vec<_>>()
    };
    let first = File::new(written).settings(&["--quantize", "small=q4"]).join("\n");
    let second = File::new(&first).settings(&[]).join("\n");
    assert_eq!(values(&first), values(&second));
    for line in [
        "[model.\"small\"]",
        r#"aliases = ["s", "t"]"#,
        r#"reasoning-budget = ["low=512", "default=4096"]"#,
        "context = 256",
        "path = \"x=y/z\"",
        r#"parser-option = ["a=b", "c=d=e"]"#,
    ] {
        assert!(values(&first).iter().any(|printed| printed == line), "{line}: {first}");
    }
}

#[test]
fn switch_for_a_model_replaces_what_the_file_says_of_it() {
    let file = File::new(
        "context = 100\n[model.small]\npath = 'a'\ncontext = 200\n[model.big]\npath = 'b'\ncontext = 300\n",
    );
    let contexts = |arguments: &[&str]| {
        let lines = file.settings(arguments).into_iter();
        let is_kept = |line: &String| line.starts_with("context") || line.starts_with("[model");
        lines.filter(is_kept).collect::<Vec<_>>()
    };
    let small = ["[model.\"small\"]", "context = 200  # {file}:4"];
    let big = ["[model.\"big\"]", "context = 300  # {file}:7"];
    let all = ["context = 100  # {file}:1"];
    assert_eq!(contexts(&[]), [&all[..], &big, &small].concat());
    let given = contexts(&["--context", "small=5"]);
    assert_eq!(given, [&all[..], &big, &["[model.\"small\"]", "context = 5  # switch"]].concat());
    assert_eq!(
        contexts(&["--context", "5"]),
        ["context = 5  # switch", "[model.\"big\"]", "[model.\"small\"]"]
    );
    assert_eq!(contexts(&["--model", "c"]), all, "its models are left out");
    let with_another = contexts(&["--model", "new=c"]);
    assert_eq!(with_another, [&all[..], &big, &["[model.\"new\"]"], &small].concat());
}

#[test]
fn what_is_wrong_is_one_line_with_its_place() {
    for (content, part) in [
        ("x = 1", "{file}:1: x: no such switch; host serve --help lists them"),
        ("listen = 0\n\nkv-cache = 0", "{file}:3: invalid value '0' for '--kv-cache <MIB>': 0 is not in"),
        ("listen = 0\n[model.a]\ncontext = 'x'", "{file}:3: invalid value 'a=x' for '--context"),
        ("listen = ", "{file}:1: "),
        ("listen = 0\nlisten = 1", "{file}:2: duplicate key"),
        ("listen = [0]", "{file}:1: listen: expected one value, no list"),
        ("check-streams = 1", "{file}:1: check-streams: expected true or false"),
        ("kv-cache = 1979-05-27", "{file}:1: kv-cache: expected a text, a number"),
        ("[model.a]\nlisten = 0", "{file}:2: listen: not a setting of one model"),
        ("[model.a]\napi-key = 'x'", "{file}:2: api-key: not a setting of one model"),
        ("model.a = 'dir'", "{file}:1: model.a: expected a table of switches"),
        ("[model.Qwen3-0.6B]\npath = 'x'", "a name with a dot needs quotes"),
        ("config = 'other'", "{file}:1: config: no such switch"),
        ("print-config = true", "{file}:1: print-config: no such switch"),
    ] {
        let error = File::new(content).refusal(&[]);
        assert!(error.contains(part), "{content}: {error}");
    }
    let large = File::new(&"# nothing\n".repeat(1 << 20));
    assert!(large.refusal(&[]).contains("it has more than 1048576 bytes: shorten it"));
    let missing = serve(&["--config", "no-such-file"]);
    assert!(refused(missing).0.contains("--config no-such-file: No such file"));
    let readable = File::new("api-key = 'hidden'");
    write(&readable.path(), "api-key = 'hidden'", 0o644);
    let error = readable.refusal(&[]);
    assert!(error.contains("{file}:1: others can read this key") && !error.contains("hidden"), "{error}");
}

#[test]
fn models_of_the_file_are_served() {
    let [small, other] = [tiny("qwen3-tiny"), tiny("gpt-oss-tiny")];
    let file = File::new(&format!(
        "listen = 0\nstore = 'memory'\n[model.small]\npath = {small:?}\naliases = 's'\n[model.other]\npath = {other:?}\n"
    ));
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.arg("serve").env("SLUICE_CONFIG", file.path()).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let server = Serving::start(command);
    let models = server.get("/v1/models");
    for name in ["\"small\"", "\"s\"", "\"other\""] {
        assert!(models.contains(name), "{name}: {models}");
    }
}

#[test]
fn doctor_reads_the_same_file() {
    let file = File::new("listen = 0\nkv-cache = 9000000\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    let output = command.args(["doctor", "--config", text(&file.path())]).output().expect("the binary runs");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.contains("FAIL  memory") && said.contains("8789 GiB"), "{said}");
}

/// Status of a request with these headers.
fn status(server: &Serving, headers: &str) -> String {
    let answer = server.get_with("/v1/models", headers);
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_hangup_brings_new_settings_or_none() {
    let settings = |keys: &str, rest: &str| {
        format!("listen = 0\nstore = 'memory'\nparser = 'none'\napi-key = ['{keys}']\n{rest}")
    };
    let file = File::new(&settings("a=old", "allow-host = ['one.example']\nlog-level = 'info'\n"));
    let mut server = Serving::start(file.serve(&[]));
    let ask = |server: &Serving, host: &str, key: &str| {
        status(server, &format!("x-api-key: {key}\r\nhost: {host}\r\n"))
    };
    let [admitted, unknown, foreign] =
        ["HTTP/1.1 200 OK", "HTTP/1.1 401 Unauthorized", "HTTP/1.1 403 Forbidden"];
    assert_eq!(ask(&server, "one.example", "old"), admitted);
    assert_eq!(ask(&server, "two.example", "old"), foreign);

    file.replace(&settings("a=new", "allow-host = ['two.example']\nkv-cache = 0\n"));
    let line = server.hang_up("settings not reloaded");
    assert!(line.contains("sluice.toml:6: invalid value '0'") && !line.contains("new"), "{line}");
    assert_eq!(ask(&server, "one.example", "old"), admitted);

    file.replace(&settings(
        "a=new",
        "allow-host = ['two.example']\ncors-origin = 'https://app.example'\nkv-cache = 99\n",
    ));
    let line = server.hang_up("needs a restart");
    assert!(line.contains("--kv-cache has changed"), "{line}");
    assert_eq!(ask(&server, "one.example", "new"), foreign);
    assert_eq!(ask(&server, "two.example", "old"), unknown);
    assert_eq!(ask(&server, "two.example", "new"), admitted);
    let answer = server
        .get_with("/v1/models", "x-api-key: new\r\nhost: two.example\r\norigin: https://app.example\r\n");
    assert!(answer.contains("access-control-allow-origin: https://app.example"), "{answer}");

    file.replace("listen = 0\nstore = 'memory'\nparser = 'none'\n");
    assert!(server.hang_up("settings not reloaded").contains("need a restart"));
    assert_eq!(ask(&server, "two.example", "new"), admitted);
}

#[test]
fn a_thousand_hangups_lose_no_answer() {
    let script = tempfile::NamedTempFile::new().expect("a file");
    let words = "word ".repeat(60) + "end";
    let rule = serde_json::json!({"text": words, "pace_ms": 5});
    write(script.path(), &serde_json::json!({"rules": [rule]}).to_string(), 0o600);
    let settings = |key: &str| {
        let engine = text(script.path());
        format!("listen = 0\nstore = 'memory'\nengine = 'replay:{engine}'\napi-key = ['a={key}']\n")
    };
    let file = File::new(&settings("old"));
    let server = Serving::start(file.serve(&[]));
    let body = r#"{"model": "qwen3-tiny", "input": "Hi", "stream": true, "reasoning": {"effort": "none"}}"#;
    std::thread::scope(|scope| {
        let ask = || server.post_with_key("/v1/responses", "old", body);
        let answers: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        server.send_hangups(1000);
        for answer in answers {
            let answer = answer.join().expect("an answer");
            assert!(answer.contains("event: response.completed"), "{answer}");
            assert!(answer.contains(&format!(r#""text":"{words}"#)), "{answer}");
        }
    });
    file.replace(&settings("new"));
    server.send_hangups(1);
    eventually("the new key is known", || {
        server.get_with_key("/v1/models", "new").starts_with("HTTP/1.1 200")
    });
    assert!(server.get_with_key("/v1/models", "old").starts_with("HTTP/1.1 401"));
}

#[test]
fn a_pipe_is_read_at_the_start_alone() {
    let file = File::new("");
    std::fs::remove_file(file.path()).expect("removed");
    assert!(Command::new("mkfifo").arg(file.path()).status().expect("mkfifo runs").success());
    let path = file.path();
    let writer = std::thread::spawn(move || {
        std::fs::write(path, "listen = 0\nstore = 'memory'\nparser = 'none'\n").expect("written");
    });
    let mut server = Serving::start(file.serve(&[]));
    writer.join().expect("written");
    let line = server.hang_up("settings not reloaded");
    assert!(line.contains("it isn't a plain file, and so was read once"), "{line}");
    assert!(server.get("/v1/models").starts_with("HTTP/1.1 200"));
}

#[test]
fn a_switch_may_need_what_the_file_says() {
    let file = File::new("record = 'records'\n");
    let lines = file.settings(&["--record-failed"]);
    assert!(lines.iter().any(|line| line == "record-failed = true  # switch"), "{lines:#?}");
}

#[test]
fn a_hangup_changes_the_engines_and_the_level_of_the_log() {
    let engine = Serving::start(serve(&["--store", "memory", "--served-model-name", "tiny"]));
    let settings = |engine: &str, level: &str| {
        format!(
            "listen = 0\nstore = 'memory'\nlog-level = '{level}'\nengine-health-seconds = 1\n[model.tiny]\nengine = '{engine}'\n"
        )
    };
    let file = File::new(&settings("http://127.0.0.1:9", "error"));
    let mut command = file.serve(&[]);
    command.arg("--model").arg(format!("tiny={}", tiny("qwen3-tiny")));
    let mut server = Serving::start(command);
    let body = r#"{"model": "tiny", "input": "hi", "max_output_tokens": 3}"#;
    assert!(server.post("/v1/responses", body).starts_with("HTTP/1.1 503"));
    file.replace(&settings(engine.url().trim_end_matches("/v1"), "info"));
    let line = server.hang_up("found ");
    assert!(line.contains("INFO"), "{line}");
    let answer = server.post("/v1/responses", body);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    file.replace(&settings("https://127.0.0.1:9", "info"));
    assert!(server.hang_up("settings not reloaded").contains("need a restart"));
}
