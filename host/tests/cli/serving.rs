//! Servers of the binary that tests start, and their addresses.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Asks until it has happened, for a minute at most.
pub(super) fn eventually(what: &str, mut has_happened: impl FnMut() -> bool) {
    let began = Instant::now();
    while !has_happened() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}: never happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Command `host serve` on a free port, without home and data folders.
pub(super) fn serve(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
    command.args([&["serve", "--parser", "none"], listen, arguments].concat());
    command
        .env("RUST_LOG", "warn")
        .env_remove("HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("SLUICE_API_KEY");
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Runs a server that must fail; returns its only line and its exit status.
pub(super) fn refused(command: Command) -> (String, i32) {
    let mut running = Running::start(command);
    assert_eq!(running.startup_lines(), [""; 0], "it serves");
    let error = running.log();
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(error.starts_with("error: "), "{error}");
    let status = running.0.wait().expect("it ends");
    (error, status.code().expect("it ends by itself"))
}

/// Running binary, which is killed when dropped.
pub(super) struct Running(pub(super) Child);

impl Running {
    pub(super) fn start(mut command: Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs"))
    }

    /// Lines that it prints before it serves.
    pub(super) fn startup_lines(&mut self) -> Vec<String> {
        let lines = BufReader::new(self.0.stdout.take().expect("piped")).lines().map_while(Result::ok);
        lines.take_while(|line| !line.starts_with("try ")).collect()
    }

    /// Lines that it logs until it ends.
    pub(super) fn log(&mut self) -> String {
        let mut log = String::new();
        self.0.stderr.take().expect("piped").read_to_string(&mut log).expect("UTF-8");
        log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Running server.
pub(super) struct Serving {
    running: Running,
    address: String,
}

impl Serving {
    pub(super) fn start(command: Command) -> Self {
        let mut running = Running::start(command);
        let lines = running.startup_lines();
        let address = address_in(&lines, "address");
        Self { running, address }
    }

    /// A server with an address for operators, too, whose handle comes second.
    pub(super) fn start_with_admin(command: Command) -> (Self, Admin) {
        let mut running = Running::start(command);
        let lines = running.startup_lines();
        let admin = Admin(address_in(&lines, "admin"));
        (Self { running, address: address_in(&lines, "address") }, admin)
    }

    /// Address that it listens on.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Base URL of the server.
    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Posts a body and returns the whole response as text.
    pub(super) fn post(&self, path: &str, body: &str) -> String {
        self.send("POST", path, "", body)
    }

    /// As [`Self::post`], with a key.
    pub(super) fn post_with_key(&self, path: &str, key: &str, body: &str) -> String {
        self.send("POST", path, &format!("x-api-key: {key}\r\n"), body)
    }

    pub(super) fn get(&self, path: &str) -> String {
        self.get_with_key(path, "")
    }

    pub(super) fn get_with_key(&self, path: &str, key: &str) -> String {
        self.send("GET", path, &format!("x-api-key: {key}\r\n"), "")
    }

    /// Gets with these headers, which may name the host.
    pub(super) fn get_with(&self, path: &str, headers: &str) -> String {
        self.send("GET", path, headers, "")
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        send(&self.address, method, path, headers, body)
    }

    /// Sends SIGHUP, and returns the line of the log that has `part`, which must come.
    pub(super) fn hang_up(&mut self, part: &str) -> String {
        let id = self.running.0.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &id]).status().expect("kill runs").success());
        self.logged(part)
    }

    /// Reads the log up to the line that has `part`, which must come, and returns that line.
    pub(super) fn logged(&mut self, part: &str) -> String {
        let log = self.running.0.stderr.as_mut().expect("piped");
        let mut line = Vec::new();
        while !String::from_utf8_lossy(&line).contains(part) {
            line.clear();
            // Read by bytes, so that what follows stays in the pipe.
            while line.last() != Some(&b'\n') {
                let mut byte = [0];
                log.read_exact(&mut byte).expect("the log goes on");
                line.extend(byte);
            }
        }
        String::from_utf8(line).expect("UTF-8")
    }

    /// Sends many SIGHUPs, as fast as a shell does.
    pub(super) fn send_hangups(&self, count: usize) {
        let all = format!("for _ in $(seq {count}); do kill -HUP {}; done", self.running.0.id());
        assert!(Command::new("sh").args(["-c", &all]).status().expect("sh runs").success());
    }

    /// Posts a body; the answer is still to be read.
    pub(super) fn open(&self, path: &str, body: &str) -> TcpStream {
        ask(&self.address, "POST", path, "", body)
    }

    /// Tells the server to stop, waits for it, and returns its log.
    pub(super) fn log_to_the_end(mut self) -> String {
        let told = Command::new("kill").arg(self.running.0.id().to_string()).status();
        assert!(told.expect("kill runs").success());
        self.running.log()
    }

    /// Kills the server and returns its log.
    pub(super) fn log(mut self) -> String {
        self.running.0.kill().expect("it runs");
        self.running.log()
    }
}

/// Handle of a server's address for operators.
pub(super) struct Admin(String);

impl Admin {
    pub(super) fn get(&self, path: &str) -> String {
        self.get_with_key(path, "")
    }

    /// Gets what is still to be read.
    pub(super) fn open(&self, path: &str) -> TcpStream {
        ask(&self.0, "GET", path, "", "")
    }

    pub(super) fn post(&self, path: &str, body: &str) -> String {
        send(&self.0, "POST", path, "", body)
    }

    pub(super) fn get_with_key(&self, path: &str, key: &str) -> String {
        send(&self.0, "GET", path, &format!("x-api-key: {key}\r\n"), "")
    }
}

/// The address of this kind in a server's summary.
fn address_in(lines: &[String], kind: &str) -> String {
    let mut of_kind = lines.iter().filter(|line| line.starts_with(kind));
    let address = of_kind.find_map(|line| line.split_once("://"));
    address.unwrap_or_else(|| panic!("it doesn't serve: {lines:?}")).1.to_owned()
}

/// Sends a request, and returns the whole response as text.
fn send(address: &str, method: &str, path: &str, headers: &str, body: &str) -> String {
    let mut answer = String::new();
    ask(address, method, path, headers, body).read_to_string(&mut answer).expect("an answer");
    answer
}

/// Sends a request, whose response is still to be read.
fn ask(address: &str, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let host = if headers.contains("host: ") { "" } else { "host: localhost\r\n" };
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\n{host}connection: close\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).expect("written");
    stream
}

/// Starts a server, kills it when it serves, and returns its log.
pub(super) fn log_of_start(command: Command) -> String {
    Serving::start(command).log()
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Writes a file with this text and mode.
pub(super) fn write(file: &Path, content: &str, mode: u32) {
    fs::write(file, content).expect("written");
    fs::set_permissions(file, Permissions::from_mode(mode)).expect("it is ours");
}
