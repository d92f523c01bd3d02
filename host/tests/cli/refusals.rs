//! Every row of `refusals.txt`: arguments and files that the command line refuses. Nothing is
//! printed, and stderr has one line that names the switch or the file, followed by the usage where
//! the arguments don't fit each other.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

const ROWS: &str = include_str!("refusals.txt");

/// Files that rows use, and an address in use.
struct Fixture {
    folder: tempfile::TempDir,
    taken: TcpListener,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("folder")).expect("made");
        std::fs::write(folder.path().join("text"), "only text\n").expect("written");
        std::fs::write(folder.path().join("parser.wasm"), crate::guests::guest("healthy")).expect("written");
        Self { folder, taken: TcpListener::bind("127.0.0.1:0").expect("a free port") }
    }

    fn fill(&self, text: &str) -> String {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        text.replace("{missing}", &path("missing"))
            .replace("{folder}", &path("folder"))
            .replace("{text}", &path("text"))
            .replace("{parser}", &path("parser.wasm"))
            .replace("{taken}", &self.taken.local_addr().expect("bound").to_string())
    }
}

/// Runs the binary; returns exit status, stdout and stderr. A server that starts is killed, so that
/// no row can hang.
fn run(arguments: &str, folder: &Path) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_host"))
        .args(arguments.split(' '))
        .env("RUST_LOG", "off")
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("SLUICE_API_KEY")
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut printed = vec![0; 1 << 12];
    let count = child.stdout.take().expect("piped").read(&mut printed).expect("readable");
    if count > 0 {
        let _ = child.kill();
    }
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&printed[..count]), text(&output.stderr))
}

/// Runs a row; returns a description of the fault if the result differs from the row.
fn fault(row: &str, fixture: &Fixture) -> Option<String> {
    let [status, arguments, part] =
        row.splitn(3, " | ").collect::<Vec<_>>().try_into().expect("three columns");
    let (code, printed, error) = run(&fixture.fill(arguments), &fixture.folder.path().join("folder"));
    let (line, rest) = error.split_once('\n').unwrap_or((&error, ""));
    let usage = rest.is_empty() || (code == Some(2) && rest.contains("\nUsage: "));
    let good = code.map(|code| code.to_string()).as_deref() == Some(status)
        && printed.is_empty()
        && line.starts_with("error: ")
        && line.contains(&fixture.fill(part))
        && usage;
    (!good).then(|| format!("{row}\n  status {code:?}, stdout {printed:?}, stderr:\n{error}"))
}

#[test]
fn refusals_are_one_line_with_switch_and_its_values() {
    let fixture = Fixture::new();
    let rows = ROWS.lines().filter(|line| !line.starts_with('#'));
    let faults: Vec<String> = rows.filter_map(|row| fault(row, &fixture)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_command_has_rows() {
    let has = |command: &str| {
        ROWS.lines().any(|row| row.split(" | ").nth(1).is_some_and(|row| row.starts_with(command)))
    };
    for command in ["serve", "bench model", "bench serve", "stream lint", "run", "chat", "launch"] {
        assert!(has(command), "{command}");
    }
    for command in ["stats", "export", "purge", "check", "migrate", "backup"] {
        assert!(has(&format!("store {command}")), "{command}");
    }
    for command in ["list", "inspect", "test", "run", "trace", "bench", "new"] {
        assert!(has(&format!("parser {command}")), "{command}");
    }
}
