//! Records of answers: `serve --record`, `replay`, `parser case`, and `serve --engine replay:RECORD`.

mod damaged;
mod forks;
mod kept;
mod parsed;
mod replays;
mod tools;
mod traces;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::serve_switches::{Serving, text};
pub(super) use tools::SERVER as TOOL_SERVER;

/// The tiny models, a family each, with a parser each.
const MODELS: [&str; 3] = ["qwen3-tiny", "gpt-oss-tiny", "kimi-tiny"];

/// A folder of records, and the server that writes them.
struct Recorded {
    folder: tempfile::TempDir,
    serving: Serving,
}

/// The object `base` with the fields of `extra`.
fn with(mut base: Value, extra: &Value) -> Value {
    let fields = extra.as_object().expect("an object").clone();
    base.as_object_mut().expect("an object").extend(fields);
    base
}

fn host() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.env("RUST_LOG", "warn").env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env_remove("HOME").env_remove("XDG_DATA_HOME").env_remove("SLUICE_API_KEY");
    command
}

fn model(name: &str) -> String {
    format!("{}/models/{name}", env!("CARGO_MANIFEST_DIR"))
}

impl Recorded {
    fn start(name: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = host();
        command.args(["serve", "--listen", "127.0.0.1:0", "--model", &model(name), "--store", "memory"]);
        command.args(["--record", text(&folder.path().join("records"))]).args(arguments);
        Self { serving: Serving::start(command), folder }
    }

    /// Posts a body; returns the answer's body.
    fn post(&self, path: &str, body: &Value) -> String {
        let answer = self.serving.post(path, &body.to_string());
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}\n{body}");
        body.to_owned()
    }

    /// Stops the server; returns the files that it has written, oldest first.
    fn stop(self) -> Records {
        let Self { folder, serving } = self;
        let log = serving.log_to_the_end();
        assert!(!log.contains("panicked") && !log.contains("balance"), "{log}");
        Records(folder)
    }
}

/// The records of a server that has ended.
struct Records(tempfile::TempDir);

impl Records {
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.0.path().join("records")).expect("it is there");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        files.sort();
        files
    }

    /// Runs `host replay` on all files.
    fn replay(&self, arguments: &[&str]) -> Output {
        replay(&self.files(), arguments)
    }

    /// Asserts that there are so many records, and that all replay to the same events.
    fn assert_equal(&self, count: usize) {
        assert_eq!(self.files().len(), count);
        let output = self.replay(&[]);
        let (out, error) = (text_of(&output.stdout), text_of(&output.stderr));
        assert!(output.status.success(), "{out}{error}");
        assert_eq!(out.lines().filter(|line| line.contains(": equal, ")).count(), count, "{out}");
    }
}

/// What a replay says on stderr, but for the files that it reads.
fn errors_of(output: &Output) -> String {
    let text = text_of(&output.stderr);
    text.split_inclusive('\n').filter(|line| !line.starts_with("note: ")).collect()
}

fn replay(files: &[PathBuf], arguments: &[&str]) -> Output {
    host().arg("replay").args(files).args(arguments).output().expect("the binary runs")
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Lines of a record.
fn lines(file: &Path) -> Vec<Value> {
    let compressed = std::fs::read(file).expect("readable");
    let text = zstd::decode_all(&*compressed).expect("whole frames");
    text_of(&text).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Writes a record of these lines.
fn write(file: &Path, lines: &[Value]) {
    let text = lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n");
    std::fs::write(file, zstd::encode_all(text.as_bytes(), 1).expect("compressed")).expect("written");
}
