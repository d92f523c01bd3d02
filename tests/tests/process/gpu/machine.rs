//! A machine with the simulated CUDA, and the binary `host` on it.

use std::io::{BufRead, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time that a test waits for a process to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// Folder with the simulated libraries, as `tests/cuda-simulator` installs them.
const SIMULATOR: &str = "CUDA_SIMULATOR";

/// Folders with CUDA's libraries, of which a test may remove some.
pub(crate) struct Machine {
    folder: tempfile::TempDir,
    driver: PathBuf,
    libraries: PathBuf,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let machine = Self::without_driver();
        copy("driver", &machine.driver);
        copy("libraries", &machine.libraries);
        machine
    }

    /// A machine whose folders are empty.
    pub(crate) fn without_driver() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [driver, libraries] = ["driver", "libraries"].map(|name| folder.path().join(name));
        for folder in [&driver, &libraries] {
            std::fs::create_dir(folder).expect("a folder");
        }
        Self { folder, driver, libraries }
    }

    /// Adds CUDA's libraries of another generation to the folder where the loader looks.
    pub(crate) fn add_older_toolkit(&self) {
        copy("older", &self.driver);
    }

    /// Folder of NVRTC and cuBLASLt.
    pub(crate) fn libraries(&self) -> &Path {
        &self.libraries
    }

    /// The binary on this machine, which `settings` describe as `SIMULATED_CUDA` does.
    pub(crate) fn host(&self, settings: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(tests::process::binary());
        command
            .args(arguments)
            .env("LD_LIBRARY_PATH", &self.driver)
            .env("SIMULATED_CUDA", settings)
            .env_remove("SLUICE_API_KEY")
            .stdin(Stdio::null());
        command
    }

    /// `host serve` of the embedded model, with all libraries.
    pub(crate) fn serve(&self, settings: &str, arguments: &[&str]) -> Command {
        let mut command = self.serve_without_libraries(settings, arguments);
        command.arg("--cuda-libs").arg(self.libraries());
        command
    }

    /// `host serve` of the embedded model. Only the driver is where the loader looks.
    pub(crate) fn serve_without_libraries(&self, settings: &str, arguments: &[&str]) -> Command {
        let mut command = self
            .host(settings, &["serve", "--listen", "127.0.0.1:0", "--seal-key", "none", "--store", "memory"]);
        command
            .args(["--kernel-cache", "none", "--plugins"])
            .arg(self.folder.path())
            .arg("--parser-cache")
            .arg(std::env::temp_dir().join("sluice-tests/parsers"))
            .args(arguments);
        command
    }
}

/// Copies the simulator's folder of this name.
fn copy(name: &str, to: &Path) {
    let simulator = std::env::var_os(SIMULATOR).map(PathBuf::from);
    let from =
        simulator.unwrap_or_else(|| panic!("{SIMULATOR} names no folder: tests/nightly.sh")).join(name);
    for file in std::fs::read_dir(from).expect("the simulator") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
    }
}

/// A server process. It is killed when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    errors: Option<JoinHandle<String>>,
}

impl Server {
    /// Starts a server and waits for its address.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary");
        let mut pipe = child.stderr.take().expect("piped");
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = pipe.read_to_string(&mut text);
            text
        });
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let address =
            lines.find_map(|line| line.strip_prefix("address")?.trim().strip_prefix("http://")?.parse().ok());
        // What it prints behind its address fits in the pipe, which lives as long as this thread.
        std::mem::forget(lines);
        let Some(address) = address else {
            let _ = child.wait();
            panic!("no address: {}", errors.join().unwrap_or_default());
        };
        Self { child, address, errors: Some(errors) }
    }

    /// Asks the process to end, as an operator does.
    pub(crate) fn terminate(&self) {
        let told = Command::new("kill").arg(self.child.id().to_string()).status();
        assert!(told.is_ok_and(|status| status.success()), "it could not be told");
    }

    /// Waits until the process has ended; returns its status and what it wrote to stderr.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let status = wait(&mut self.child);
        let errors = self.errors.take().expect("taken once").join().expect("a reader");
        (status, errors)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end; returns whether it succeeded, its output and what it wrote to stderr.
/// It must not panic.
pub(crate) fn run(command: &mut Command) -> (bool, String, String) {
    let output = command.output().expect("the binary");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(!errors.contains("panicked") && output.status.code().is_some(), "{errors}");
    (output.status.success(), out, errors)
}

fn wait(child: &mut Child) -> ExitStatus {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("a child") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the process doesn't end");
}
