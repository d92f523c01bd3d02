//! Start and stop of `host serve`: where it listens, what it prints last, and signals at any time.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Lines, PipeReader, Read as _, Write as _, pipe};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Server with stdout and stderr in one pipe, which is killed when dropped.
struct Server {
    child: Child,
    lines: Lines<BufReader<PipeReader>>,
}

impl Server {
    /// Starts `host serve` with these arguments, which include the address.
    fn start(arguments: &[&str]) -> Self {
        let (reader, writer) = pipe().expect("a pipe");
        // Background jobs of shells ignore SIGINT, and the server would inherit that until it
        // listens.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_host")]);
        command.args(
            [&["serve", "--parser", "none", "--seal-key", "none", "--store", "memory"], arguments].concat(),
        );
        command.env("RUST_LOG", "info").env_remove("SLUICE_API_KEY").stdin(Stdio::null());
        command.stdout(writer.try_clone().expect("a pipe")).stderr(writer);
        Self { child: command.spawn().expect("the binary runs"), lines: BufReader::new(reader).lines() }
    }

    /// Reads the lines up to the one that contains `text`.
    fn until(&mut self, text: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.contains(text)) {
            let line = self.lines.next().unwrap_or_else(|| panic!("no {text:?} among {lines:#?}"));
            lines.push(line.expect("UTF-8"));
        }
        lines
    }

    /// Reads the summary and returns the address in it.
    fn address(&mut self) -> String {
        let lines = self.until("try ");
        let address = lines.iter().find_map(|line| line.strip_prefix("address  http://"));
        address.unwrap_or_else(|| panic!("no address in {lines:#?}")).to_owned()
    }

    /// Opens this FIFO for writing, when the server has opened it for reading.
    fn writer_of(&mut self, fifo: &Path) -> File {
        let open = || File::options().write(true).custom_flags(libc::O_NONBLOCK).open(fifo);
        loop {
            match open() {
                Ok(file) => return file,
                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENXIO), "{error}"),
            }
            assert!(self.child.try_wait().expect("a child").is_none(), "{:#?}", self.end().0);
            std::thread::yield_now();
        }
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits until the server ends by itself; returns the rest of its lines and its exit status.
    fn end(&mut self) -> (Vec<String>, ExitStatus) {
        let rest = self.lines.by_ref().map(|line| line.expect("UTF-8")).collect();
        (rest, self.child.wait().expect("it ends"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request; returns the answer up to `end`, and the connection.
fn ask(address: &str, request: &str, end: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(end.as_bytes()) {
        stream.read_exact(&mut byte).expect("the answer goes on");
        answer.push(byte[0]);
    }
    (String::from_utf8(answer).expect("UTF-8"), stream)
}

#[test]
fn port_alone_is_loopbacks_and_names_are_looked_up() {
    for (listen, starts) in
        [("0", "127.0.0.1:"), (":0", "127.0.0.1:"), ("127.0.0.1:0", "127.0.0.1:"), ("localhost:0", "")]
    {
        let mut server = Server::start(&["--listen", listen, "--admin-listen", listen]);
        let address = server.address();
        assert!(address.starts_with(starts) && !address.ends_with(":0"), "{listen}: {address}");
        let (answer, _) = ask(&address, "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n", "\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

#[test]
fn summary_comes_after_all_logs_of_the_start() {
    let mut server = Server::start(&["--listen", "0", "--plugins", "no-such-folder"]);
    let lines = server.until("try ");
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).expect(text);
    assert!(at("not watched") < at("model    "), "{lines:#?}");
    let summary = &lines[at("model    ")..];
    assert!(summary.iter().all(|line| !line.contains("host::")), "{lines:#?}");
}

#[test]
fn a_signal_while_it_starts_ends_it_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fifo = folder.path().join("template");
    for (signal, number) in [("-TERM", 15), ("-INT", 2)] {
        let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
        assert!(made.success());
        let mut server = Server::start(&["--listen", "0", "--chat-template", fifo.to_str().expect("UTF-8")]);
        // The server waits for the template, which is never written, so the start doesn't go on.
        let _template = server.writer_of(&fifo);
        server.signal(signal);
        let (lines, status) = server.end();
        assert_eq!(status.signal(), Some(number), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.starts_with("address")), "{lines:#?}");
        std::fs::remove_file(&fifo).expect("removed");
    }
}

/// It ended the process as if the server hadn't begun.
#[test]
fn signal_right_behind_the_address_is_a_stop() {
    for signal in ["-TERM", "-INT"].repeat(4) {
        let mut server = Server::start(&["--listen", "0"]);
        server.until("address  http://");
        server.signal(signal);
        let (lines, status) = server.end();
        assert!(status.success(), "{signal} {status}: {lines:#?}");
        assert_eq!(lines.iter().filter(|line| line.contains(": stopped")).count(), 1, "{lines:#?}");
    }
}

#[test]
fn first_interrupt_waits_for_streams_and_a_second_not() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = folder.path().join("replay.json");
    std::fs::write(&script, r#"{"rules": [{"text": "x", "finish": "hang"}]}"#).expect("written");
    let engine = format!("replay:{}", script.display());
    let mut server = Server::start(&["--listen", "0", "--engine", &engine, "--grace-seconds", "3600"]);
    let address = server.address();
    let body = r#"{"model": "qwen3-tiny", "input": "x", "stream": true}"#;
    let request = format!(
        "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (_, _stream) = ask(&address, &request, "output_text.delta");
    server.signal("-INT");
    server.until("stopping: waiting for streams to end");
    let (health, _) = ask(&address, "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n", "}");
    assert!(health.starts_with("HTTP/1.1 503") && health.contains("draining"), "{health}");
    server.signal("-INT");
    let (lines, status) = server.end();
    assert!(status.success(), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("told to stop again")), "{lines:#?}");
}
