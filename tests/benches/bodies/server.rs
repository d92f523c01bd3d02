//! The binary `host` as a process of its own: its address and its memory. It is killed when dropped.

use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;

/// What the user of the paced stream says.
pub(crate) const PACED: &str = "A paced answer, please.";
/// Tokens of the paced answer and milliseconds between them: longer than a shape may take, and within the embedded model's context.
const PACED_TOKENS: usize = 3600;
const PACE_MS: u64 = 20;

pub(crate) struct ServerProcess {
    child: Child,
    /// Stdout, open as long as the server writes to it.
    _stdout: Lines<BufReader<ChildStdout>>,
    _folder: tempfile::TempDir,
    pub(crate) address: SocketAddr,
}

impl ServerProcess {
    /// Starts a server of the embedded model whose answers are scripted: one is paced, all others are short.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = folder.path().join("replay.json");
        let rules = json!({"rules": [
            {
                "when": {"last_user_contains": PACED},
                "text": "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(PACED_TOKENS),
                "pace_ms": PACE_MS,
            },
            {"text": "<think>\n\n</think>\n\nHello!"},
        ]});
        std::fs::write(&script, rules.to_string()).expect("a temporary folder can be written");
        let mut child = Command::new(binary())
            .args(["serve", "--listen", "127.0.0.1:0", "--served-model-name", "bench", "--seal-key", "none"])
            .arg("--engine")
            .arg(format!("replay:{}", script.display()))
            .arg("--plugins")
            .arg(folder.path())
            .arg("--parser-cache")
            .arg(std::env::temp_dir().join("sluice-tests/parsers"))
            .env_remove("SLUICE_API_KEY")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server's binary is there: cargo build --profile dist -p host, or name one with SLUICE_HOST");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("address")?.trim().strip_prefix("http://")?.parse().ok())
            .expect("the server prints its address");
        Self { child, _stdout: lines, _folder: folder, address }
    }

    /// Memory that it has now.
    pub(crate) fn resident_mib(&self) -> f64 {
        self.status_mib("VmRSS:")
    }

    /// Most memory that it had since `reset_peak`.
    pub(crate) fn peak_mib(&self) -> f64 {
        self.status_mib("VmHWM:")
    }

    /// Starts the measurement of `peak_mib` anew.
    pub(crate) fn reset_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").expect("Linux");
    }

    fn status_mib(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let Some(line) = line else { return f64::INFINITY }; // it has died, of its memory mostly
        let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kib / 1024.0
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn binary() -> PathBuf {
    match std::env::var_os("SLUICE_HOST") {
        Some(path) => path.into(),
        None => std::env::current_exe().expect("this program has a path").with_file_name("../host"),
    }
}
