//! The binary `host` as a process of its own, with its address, its memory and its CPU time. The
//! process is killed when dropped.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// Name of the file for stderr.
const LOG: &str = "stderr.log";
/// Levels of the log, as without a setting.
const LEVELS: &str = "info";

/// Server process of a model called `bench`, whose answers are scripted or come from another
/// engine.
pub struct ServerProcess {
    child: Child,
    /// Stdout of the server, kept open because the server writes to it.
    _stdout: Lines<BufReader<ChildStdout>>,
    /// Pipe of stderr that nobody reads.
    _stderr: Option<ChildStderr>,
    folder: tempfile::TempDir,
    /// Address on which it listens.
    pub address: SocketAddr,
}

/// Destination of the server's stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stderr {
    /// A file, which [`ServerProcess::log`] reads.
    File,
    /// A pipe that nobody reads.
    Unread,
    /// A pipe that is closed once the server listens.
    Closed,
}

/// CPU time of a process, in its own code and in the kernel.
#[derive(Debug, Clone, Copy)]
pub struct CpuTime {
    /// CPU time in the program's own code.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
}

impl CpuTime {
    /// Reads the CPU time that the threads of `process` have used.
    ///
    /// # Panics
    /// If there is no such process.
    pub fn of(process: u32) -> Self {
        // Fields 14 and 15, in hundredths of a second (proc_pid_stat(5)); the name in field 2 may
        // hold blanks.
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it lives");
        let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
        let mut times = fields
            .split_whitespace()
            .skip(11)
            .map(|field| Duration::from_millis(10 * field.parse::<u64>().expect("a number")));
        let mut next = || times.next().expect("52 fields");
        Self { user: next(), system: next() }
    }
}

impl ServerProcess {
    /// Starts the binary that `SLUICE_HOST` names, else the one beside this program. `rules` are
    /// those of docs/replay.md; `arguments` are added to the necessary ones.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start(rules: &Value, arguments: &[&str]) -> Self {
        Self::start_replay(rules, arguments, LEVELS, Stderr::File)
    }

    /// Starts another binary, such as an earlier version's.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start_binary(binary: &Path, rules: &Value, arguments: &[&str]) -> Self {
        let (folder, engine) = replay(rules);
        Self::start_in(Command::new(binary), folder, &engine, arguments, LEVELS, Stderr::File)
    }

    /// Starts the same binary with a log of every level.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start_logging(rules: &Value, arguments: &[&str]) -> Self {
        Self::start_replay(rules, arguments, "trace", Stderr::File)
    }

    /// Starts the same binary with another destination of its log.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start_with_stderr(rules: &Value, arguments: &[&str], stderr: Stderr) -> Self {
        Self::start_replay(rules, arguments, LEVELS, stderr)
    }

    /// Starts the same binary so that a write beyond the limit of a file's size
    /// ([`ServerProcess::id`]) is an error and not its end.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start_on_a_disk_that_may_fail(rules: &Value, arguments: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(binary());
        let (folder, engine) = replay(rules);
        Self::start_in(command, folder, &engine, arguments, LEVELS, Stderr::File)
    }

    /// Starts the same binary with the store that it takes by itself in a user's data folder.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start_with_data_folder(rules: &Value, data: &Path) -> Self {
        let mut command = Command::new(binary());
        command.env("XDG_DATA_HOME", data);
        let (folder, engine) = replay(rules);
        Self::start_in(command, folder, &engine, &[], LEVELS, Stderr::File)
    }

    fn start_replay(rules: &Value, arguments: &[&str], levels: &str, stderr: Stderr) -> Self {
        let (folder, engine) = replay(rules);
        Self::start_in(Command::new(binary()), folder, &engine, arguments, levels, stderr)
    }

    /// Starts the same binary with another engine (`--engine`).
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start_with_engine(engine: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::start_in(Command::new(binary()), folder, engine, arguments, LEVELS, Stderr::File)
    }

    fn start_in(
        mut command: Command,
        folder: tempfile::TempDir,
        engine: &str,
        arguments: &[&str],
        levels: &str,
        stderr: Stderr,
    ) -> Self {
        let log = File::create(folder.path().join(LOG)).expect("a temporary folder can be written");
        // Not the store of whoever runs the tests.
        let is_chosen =
            arguments.contains(&"--store") || command.get_envs().any(|(name, _)| name == "XDG_DATA_HOME");
        let store: &[&str] = if is_chosen { &[] } else { &["--store", "memory"] };
        let seal: &[&str] = if arguments.contains(&"--seal-key") { &[] } else { &["--seal-key", "none"] };
        let mut child = command
            .env("RUST_LOG", levels)
            .args(["serve", "--listen", "127.0.0.1:0", "--served-model-name", "bench"])
            .args(seal)
            .args(["--engine", engine])
            .arg("--plugins")
            .arg(folder.path())
            .arg("--parser-cache")
            .arg(std::env::temp_dir().join("sluice-tests/parsers"))
            .args(store)
            .args(arguments)
            .env_remove("SLUICE_API_KEY")
            .stdout(Stdio::piped())
            .stderr(if stderr == Stderr::File { log.into() } else { Stdio::piped() })
            .spawn()
            .expect("the server's binary is there: cargo build-dist -p host, or name one with SLUICE_HOST");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("address")?.trim().strip_prefix("http://")?.parse().ok())
            .expect("the server prints its address");
        let unread = child.stderr.take().filter(|_| stderr == Stderr::Unread);
        Self { child, _stdout: lines, _stderr: unread, folder, address }
    }

    /// Id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it lives, as the system says it: `S (sleeping)`, or `Z (zombie)` of one that has
    /// ended.
    ///
    /// # Panics
    /// If there is no `/proc`.
    pub fn state(&self) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or_default().trim().to_owned()
    }

    /// Log so far.
    ///
    /// # Panics
    /// If it isn't text.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(LOG)).expect("a log of text")
    }

    /// Ends the server with SIGTERM and waits until it has ended. Returns its whole log.
    ///
    /// # Panics
    /// If it can't be ended.
    pub fn stop(mut self) -> String {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let ended = self.child.wait().expect("it ends");
        assert!(ended.success(), "{ended}: {}", self.log());
        self.log()
    }

    /// Resident memory in MiB.
    ///
    /// # Panics
    /// If there is no `/proc`.
    pub fn resident_mib(&self) -> f64 {
        self.status_mib("VmRSS:")
    }

    /// Peak of the resident memory in MiB, since the start or the last `reset_peak`.
    ///
    /// # Panics
    /// If there is no `/proc`.
    pub fn peak_mib(&self) -> f64 {
        self.status_mib("VmHWM:")
    }

    /// Resets the measurement of `peak_mib`.
    ///
    /// # Panics
    /// If there is no `/proc`.
    pub fn reset_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").expect("Linux");
    }

    /// CPU time that all threads of the server have used.
    ///
    /// # Panics
    /// If the server has died.
    pub fn cpu_time(&self) -> CpuTime {
        CpuTime::of(self.child.id())
    }

    /// CPU time that all threads of the server have used, in its own code and in the kernel; the
    /// longest time if the server has died.
    pub fn cpu(&self) -> Duration {
        let lives = Path::new(&format!("/proc/{}/stat", self.child.id())).exists();
        let time = lives.then(|| self.cpu_time());
        time.map_or(Duration::MAX, |time| time.user + time.system)
    }

    fn status_mib(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let Some(line) = line else { return f64::INFINITY }; // the server died, most likely out of memory
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

/// A folder with a replay file of these rules, and the engine's argument for it.
fn replay(rules: &Value) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("replay.json");
    std::fs::write(&script, json!({ "rules": rules }).to_string())
        .expect("a temporary folder can be written");
    let engine = format!("replay:{}", script.display());
    (folder, engine)
}

/// Path of the binary: what `SLUICE_HOST` names, else the one that was built with the tests.
///
/// # Panics
/// If this program has no path.
pub fn binary() -> PathBuf {
    match std::env::var_os("SLUICE_HOST") {
        Some(path) => path.into(),
        None => std::env::current_exe().expect("this program has a path").with_file_name("../host"),
    }
}
