//! The binary's own part in parsers: pins, models and the cache at a start, and SIGHUP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Folder with a plugin and a replay file, which also gets the cache.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(tempfile::tempdir().expect("a temporary folder"));
        std::fs::create_dir(fixture.path("plugins")).expect("made");
        fixture.write("plugins/p.wasm", &crate::guests::guest("healthy"));
        fixture.write("replay.json", br#"{"rules": [{"text": "x"}]}"#);
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a file, at once: a server that watches the folder never sees a part of it.
    fn write(&self, name: &str, bytes: &[u8]) {
        let unfinished = self.path(&format!("{name}.unfinished"));
        std::fs::write(&unfinished, bytes).expect("written");
        std::fs::rename(unfinished, self.path(name)).expect("it is ours");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
        let replay = format!("replay:{}", self.path("replay.json").display());
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            "memory",
            "--engine",
            &replay,
            "--plugins",
        ]);
        command.arg(self.path("plugins")).args(arguments).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    /// Runs a start that must fail, and returns its only line.
    fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).env("RUST_LOG", "off").output().expect("the binary runs");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{error}");
        error
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let log = self.path("log");
        let file = std::fs::File::create(&log).expect("made");
        let mut command = self.command(arguments);
        command.args(["--admin-listen", "127.0.0.1:0"]).env("RUST_LOG", "info");
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().expect("the binary runs");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut running = Running { child, admin: None, log };
        for line in lines.map(|line| line.expect("text")) {
            if let Some(address) = line.strip_prefix("admin") {
                running.admin = address.trim().strip_prefix("http://").and_then(|text| text.parse().ok());
            }
            if line.starts_with("try") {
                return running;
            }
        }
        panic!("it doesn't start: {}", running.log());
    }
}

/// Running server, which is killed when dropped.
struct Running {
    child: Child,
    admin: Option<SocketAddr>,
    log: PathBuf,
}

impl Running {
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("the log")
    }

    /// Report of `GET /admin/parsers` about the only model.
    fn parsers(&self) -> serde_json::Value {
        self.admin("GET", "/admin/parsers")["models"][0].take()
    }

    fn admin(&self, method: &str, path: &str) -> serde_json::Value {
        let mut stream = TcpStream::connect(self.admin.expect("an admin address")).expect("it listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        serde_json::from_str(body).expect("JSON")
    }

    /// Ends the server and returns its whole log.
    fn ended(mut self) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
        self.child.wait().expect("it ends");
        self.log()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
}

#[test]
fn unkept_pin_ends_the_start_with_both_digests() {
    let fixture = Fixture::new();
    let pinned = "0".repeat(64);
    let line = fixture.refusal(&["--parser", "p", "--parser-sha256", &format!("p.wasm={pinned}")]);
    assert!(
        line.contains(&pinned) && line.contains(&parsers::digest(&crate::guests::guest("healthy"))),
        "{line}"
    );
    let line = fixture.refusal(&["--parser", "p", "--parser-sha256", &format!("q={pinned}")]);
    assert!(line.contains("q: no parser of this name was looked at, only p"), "{line}");
}

#[test]
fn a_parser_may_name_the_model_that_it_is_for() {
    let fixture = Fixture::new();
    let line = fixture.refusal(&["--parser", "other=p"]);
    assert!(line.contains("no model other is served here, only qwen3-tiny"), "{line}");
    let line =
        fixture.refusal(&["--parser", "other=p", "--served-model-name", "a", "--served-model-name", "b"]);
    assert!(line.contains("only a, b"), "{line}");
    let running = fixture.start(&["--parser", "qwen3-tiny=p"]);
    assert_eq!(running.parsers()["serving"]["name"], "guest");
}

#[test]
fn parser_claiming_the_model_is_the_default() {
    let fixture = Fixture::new();
    let running = fixture.start(&[]);
    assert_eq!(running.parsers()["serving"]["name"], "qwen3");
    let named = fixture.start(&["--parser", "auto"]);
    let [named, running] = [named, running].map(|server| {
        let mut serving = server.parsers()["serving"].clone();
        // Times in seconds differ, since the servers didn't start at the same time.
        serving["since"].take();
        serving
    });
    assert_eq!(named, running);
}

#[test]
fn a_hangup_loads_the_parser_again() {
    let fixture = Fixture::new();
    // The plugin is a link to a file elsewhere, so the watched folder doesn't change, and only the
    // signal can cause the load.
    std::fs::create_dir(fixture.path("elsewhere")).expect("made");
    let link = fixture.path("plugins/link.wasm");
    fixture.write("elsewhere/real.bin", &crate::guests::guest("healthy"));
    std::os::unix::fs::symlink(fixture.path("elsewhere/real.bin"), &link).expect("linked");
    let running = fixture.start(&["--parser", "link"]);
    let pid = running.child.id().to_string();
    // The watcher looks at all files when it begins, so it may be the one that sees the first
    // change.
    for guest in ["to_reasoning", "healthy"] {
        let component = crate::guests::guest(guest);
        fixture.write("elsewhere/real.bin", &component);
        let began = Instant::now();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().expect("kill runs").success());
        while running.parsers()["serving"]["sha256"] != parsers::digest(&component) {
            assert!(began.elapsed() < Duration::from_secs(30), "{}", running.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        if running.log().contains("signal") {
            return;
        }
    }
    panic!("{}", running.log());
}

#[test]
fn second_start_takes_the_compiled_parser_from_cache() {
    let fixture = Fixture::new();
    let log = |arguments: &[&str]| fixture.start(&[&["--parser", "p"], arguments].concat()).log();
    let first = log(&[]);
    assert!(first.contains("compiled in") && !first.contains("from cache"), "{first}");
    let second = log(&[]);
    assert!(second.contains("from cache in") && !second.contains("compiled in"), "{second}");
    let other = log(&["--parser-memory", "64"]);
    assert!(other.contains("compiled in"), "other settings are another entry: {other}");
    let without = log(&["--parser-cache", "none"]);
    assert!(without.contains("compiled in"), "{without}");
}

#[test]
fn first_start_compiles_only_the_chosen_parser() {
    let fixture = Fixture::new();
    std::fs::remove_file(fixture.path("plugins/p.wasm")).expect("removed");
    let running = fixture.start(&[]);
    let parsers = running.parsers();
    assert_eq!(parsers["serving"]["name"], "qwen3");
    let names = |of: &serde_json::Value| of.as_array().expect("a list").len();
    assert_eq!(names(&parsers["candidates"]), model::shipped_parsers().count() - 1, "{parsers}");
    let log = running.log();
    assert_eq!(log.matches("compiled in").count(), 1, "{log}");
}

#[test]
fn models_sharing_a_parser_compile_its_new_build_once() {
    let fixture = Fixture::new();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/models/qwen3-tiny");
    let models = ["a", "b", "c"].map(|name| format!("--model={name}={directory}"));
    let models = models.iter().map(String::as_str);
    let running =
        fixture.start(&models.chain(["--parser", "p", "--parser-cache", "none"]).collect::<Vec<_>>());
    fixture.write("plugins/p.wasm", &crate::guests::guest("to_reasoning"));
    let report = running.admin("POST", "/admin/parsers/reload");
    let build = parsers::digest(&crate::guests::guest("to_reasoning"));
    for model in report["models"].as_array().expect("a list") {
        assert_eq!(model["serving"]["sha256"], build, "{report}");
    }
    let log = running.ended();
    // The trial on the template's call compiles the parser that reads it, too.
    let is_build = |line: &&str| line.contains("compiled in") && line.contains("p.wasm");
    assert_eq!(log.lines().filter(is_build).count(), 2, "once for each build: {log}");
    assert_eq!(log.matches("parser swapped").count(), 3, "{log}");
}

#[test]
fn stray_file_is_one_warning_and_fails_no_reload() {
    let fixture = Fixture::new();
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/models/qwen3-tiny");
    let models = ["a", "b"].map(|name| format!("--model={name}={directory}"));
    fixture.write("plugins/notes.wasm", b"not a parser");
    let running = fixture.start(&models.iter().map(String::as_str).collect::<Vec<_>>());
    fixture.write("plugins/more.wasm", b"another one");
    let report = running.admin("POST", "/admin/parsers/reload");
    for model in report["models"].as_array().expect("a list") {
        assert_eq!(model["last_load"]["result"], "unchanged", "{report}");
        assert_eq!(model["loads"]["failed"], 0, "{report}");
    }
    let log = running.ended();
    for file in ["notes.wasm", "more.wasm"] {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(file)).collect();
        assert!(lines.len() == 1 && lines[0].contains("WARN"), "{lines:?} in {log}");
    }
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn log_says_why_a_file_of_the_folder_is_not_chosen() {
    let fixture = Fixture::new();
    let running = fixture.start(&[]);
    let log = running.log();
    let line = log.lines().find(|line| line.contains("not chosen")).expect("a line of the log");
    assert!(line.contains("p.wasm") && line.contains("it claims no model, not model_type qwen3"), "{line}");
}

#[test]
fn template_unfit_for_its_types_parser_is_told() {
    let fixture = Fixture::new();
    let path = fixture.path("t.jinja");
    let arguments = ["--chat-template", path.to_str().expect("UTF-8")];
    let write = |call: &str| {
        let template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}CALL{% endfor %}\
            <|im_end|>\n{% endfor %}{{ tools }}";
        fixture.write("t.jinja", template.replace("CALL", call).as_bytes());
    };
    let warns = |call: &str, text: &str| {
        write(call);
        let log = fixture.start(&arguments).ended();
        assert!(log.lines().any(|line| line.contains("WARN") && line.contains(text)), "{text} in {log}");
    };
    warns("<call>{{ c.function.name }}</call>{{ c.function.arguments }}", r"assistant\n<call>q_z</call>");
    warns("", "shows tools, but not the calls of earlier turns");
    write("<tool_call><function=q_z><parameter=q>z w</parameter></function></tool_call>");
    let line = fixture.refusal(&arguments);
    assert!(line.contains("choose with --parser qwen3-coder or --parser qwen3"), "{line}");
}

#[test]
fn tampered_cache_costs_a_compilation_and_a_warning() {
    let fixture = Fixture::new();
    let folder = fixture.path("cache/sluice/parsers");
    let log = || fixture.start(&["--parser", "p"]).log();
    log();
    for entry in folder.read_dir().expect("the cache") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "compiled") {
            let mut bytes = std::fs::read(&path).expect("read");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&path, bytes).expect("written");
        }
    }
    let tampered = log();
    assert!(tampered.contains("compiled anew") && tampered.contains("compiled in"), "{tampered}");
    assert!(log().contains("from cache in"), "repaired");
    set_mode(&folder, 0o777);
    let open = log();
    assert!(
        open.contains("is not used") && open.contains("chmod 700") && open.contains("compiled in"),
        "{open}"
    );
}
