//! A server whose stderr or stdout can't be written answers as ever, and counts the log lines that
//! it lost.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _, pipe};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// Server that is killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(["serve", "--parser", "none", "--seal-key", "none", "--store", "memory"]).args(arguments);
    command.env("RUST_LOG", "info").env_remove("SLUICE_API_KEY").stdin(Stdio::null());
    command
}

/// Starts a server with this stderr; returns it with a connection to it.
fn start(stderr: impl Into<Stdio>) -> (Server, TcpStream) {
    let mut child = command(&["--listen", "0"]).stdout(Stdio::piped()).stderr(stderr).spawn();
    let stdout = child.as_mut().expect("the binary runs").stdout.take().expect("piped");
    let server = Server(child.expect("the binary runs"));
    let mut lines = BufReader::new(stdout).lines().map(|line| line.expect("UTF-8"));
    let address = lines.find_map(|line| line.strip_prefix("address  http://").map(str::to_owned));
    (server, TcpStream::connect(address.expect("a summary")).expect("it listens"))
}

/// Sends `count` requests on one connection and checks that each is answered with 200. Returns the
/// last answer's body.
fn ask(stream: &mut TcpStream, path: &str, count: usize) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut body = Vec::new();
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    for _ in 0..count {
        stream.write_all(request.as_bytes()).expect("written");
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let begin = head.len();
            assert_ne!(reader.read_line(&mut head).expect("an answer"), 0, "closed after {head:?}");
            if let Some(value) = head[begin..].strip_prefix("content-length: ") {
                length = value.trim().parse().expect("a number");
            }
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        body.resize(length, 0);
        reader.read_exact(&mut body).expect("a body");
    }
    String::from_utf8(body).expect("UTF-8")
}

/// Number of lines that the server counts as lost.
fn lost(stream: &mut TcpStream) -> usize {
    let text = ask(stream, "/metrics", 1);
    let value = text.lines().find_map(|line| line.strip_prefix("sluice_log_lines_lost_total "));
    value.expect("the counter is there").parse().expect("a number")
}

#[test]
fn server_with_full_stderr_answers_and_counts_losses() {
    let (reader, closed) = pipe().expect("a pipe");
    drop(reader);
    let full = File::options().write(true).open("/dev/full").expect("Linux");
    for stderr in [Stdio::from(closed), Stdio::from(full)] {
        let (_server, mut stream) = start(stderr);
        ask(&mut stream, "/v1/models", 500);
        // Lines are counted when their write has failed, which the next requests may precede.
        assert!((0..10_000).any(|_| lost(&mut stream) >= 500), "{} lines", lost(&mut stream));
    }
}

#[test]
fn server_with_unread_stderr_answers_and_tells_losses() {
    const REQUESTS: usize = 12_000;
    let (unread, writer) = pipe().expect("a pipe");
    let (_server, mut stream) = start(writer);
    ask(&mut stream, "/v1/models", REQUESTS);
    assert!(lost(&mut stream) > 0, "more fits into the queue than was thought");
    // The last request's line was lost before the next request was answered.
    let counted = lost(&mut stream);
    let mut lines = BufReader::new(unread).lines().map(|line| line.expect("UTF-8"));
    let (mut written, report) = (0, "log lines were lost: stderr did not take them lines=");
    let reported: usize = loop {
        let line = lines.next().expect("the server lives");
        written += usize::from(line.contains("answered"));
        if let Some((_, count)) = line.split_once(report) {
            break count.parse().expect("a number");
        }
    };
    assert_eq!(reported, counted + 1, "the scrape's own line was lost after it was answered");
    assert_eq!(written + reported, REQUESTS + 2);
}

#[test]
fn start_error_keeps_its_exit_status_though_unheard() {
    let (reader, closed) = pipe().expect("a pipe");
    drop(reader);
    let full = File::options().write(true).open("/dev/full").expect("Linux");
    for stderr in [Stdio::from(closed), Stdio::from(full)] {
        let status = command(&["--model", "no-such-folder"]).stderr(stderr).status().expect("it ends");
        assert_eq!(status.code(), Some(1));
    }
}

#[test]
fn server_unable_to_print_its_summary_serves_anyway() {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let full = File::options().write(true).open("/dev/full").expect("Linux");
    let port = port.port().to_string();
    let child = command(&["--listen", &port]).stdout(full).stderr(Stdio::piped()).spawn();
    let mut server = Server(child.expect("the binary runs"));
    let stderr = server.0.stderr.take().expect("piped");
    let mut lines = BufReader::new(stderr).lines().map(|line| line.expect("UTF-8"));
    lines.find(|line| line.contains("the summary can't be printed")).expect("a warning");
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    ask(&mut stream, "/v1/models", 1);
}
