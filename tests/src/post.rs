//! HTTP client over plain sockets: bodies are sent whole or without their last byte, each with a
//! deadline.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Status of an answer, or a word for the fault that came instead.
pub type Answer = Result<u16, &'static str>;

/// Word for an unfinished body that was held open to the end without an answer, which is correct.
pub const HELD: &str = "held";

/// Sends `at_once` requests with this body at the same time.
pub fn post(address: SocketAddr, path: &str, body: &[u8], at_once: usize, deadline: Instant) -> Vec<Answer> {
    post_with_key(address, path, "none", body, at_once, deadline)
}

/// Sends them with this API key.
pub fn post_with_key(
    address: SocketAddr,
    path: &str,
    key: &str,
    body: &[u8],
    at_once: usize,
    deadline: Instant,
) -> Vec<Answer> {
    let head = head(&format!("POST {path}"), key, body.len());
    together(at_once, || {
        let mut socket = connect(address, deadline)?;
        let sent = send(&mut socket, &head, body, deadline);
        match status(&mut socket, deadline) {
            Err(fault) => Err(sent.err().unwrap_or(fault)),
            answer => answer,
        }
    })
}

/// Sends a GET request on a connection of its own.
pub fn get(address: SocketAddr, path: &str, deadline: Instant) -> Answer {
    get_with_key(address, path, "none", deadline)
}

/// Sends it with this API key.
pub fn get_with_key(address: SocketAddr, path: &str, key: &str, deadline: Instant) -> Answer {
    let mut socket = connect(address, deadline)?;
    send(&mut socket, &head(&format!("GET {path}"), key, 0), &[], deadline)?;
    status(&mut socket, deadline)
}

/// Sends `at_once` bodies without their last byte, and holds them open together for `hold` after
/// the last was sent.
pub fn hold(
    address: SocketAddr,
    path: &str,
    body: &[u8],
    at_once: usize,
    hold: Duration,
    deadline: Instant,
) -> Vec<Answer> {
    let head = head(&format!("POST {path}"), "none", body.len());
    let all_sent = Barrier::new(at_once);
    together(at_once, || {
        let until = deadline.checked_sub(hold).expect("a body is held for less than its time");
        let socket = connect(address, until)
            .and_then(|mut socket| send(&mut socket, &head, &body[..body.len() - 1], until).map(|()| socket));
        all_sent.wait();
        status(&mut socket?, Instant::now() + hold).map_err(|_| HELD)
    })
}

/// Summary of the answers: each word or status, with its number.
pub fn summary(answers: &[Answer]) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    for answer in answers {
        *counts.entry(answer.map_or_else(str::to_owned, |status| status.to_string())).or_default() += 1;
    }
    let word = |(answer, count): (&String, &usize)| match count {
        1 => answer.clone(),
        _ => format!("{count}x{answer}"),
    };
    counts.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn together(at_once: usize, request: impl Fn() -> Answer + Sync) -> Vec<Answer> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(&request)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client doesn't panic")).collect()
    })
}

fn connect(address: SocketAddr, deadline: Instant) -> Result<TcpStream, &'static str> {
    TcpStream::connect_timeout(&address, left(deadline)).map_err(|_| "no-connection")
}

fn head(request: &str, key: &str, length: usize) -> String {
    format!(
        "{request} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nanthropic-version: 2023-06-01\r\n\
         x-api-key: {key}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

fn send(socket: &mut TcpStream, head: &str, body: &[u8], deadline: Instant) -> Result<(), &'static str> {
    socket.write_all(head.as_bytes()).map_err(|_| "cut")?;
    for part in body.chunks(1 << 20) {
        socket.set_write_timeout(Some(left(deadline))).map_err(|_| "cut")?;
        socket.write_all(part).map_err(|error| fault(&error, "not-read"))?;
    }
    Ok(())
}

/// Reads the answer to its end and returns its status.
fn status(socket: &mut TcpStream, deadline: Instant) -> Answer {
    let mut answer = Vec::new();
    let mut part = [0; 1 << 13];
    loop {
        socket.set_read_timeout(Some(left(deadline))).map_err(|_| "cut")?;
        match socket.read(&mut part) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&part[..count]),
            Err(error) if answer.is_empty() => return Err(fault(&error, "no-answer")),
            Err(_) => break,
        }
    }
    let _ = socket.shutdown(Shutdown::Both);
    let code = answer.get(9..12).and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
    code.ok_or("cut")
}

fn fault(error: &std::io::Error, late: &'static str) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => late,
        _ => "cut",
    }
}

/// Time until the deadline, at least a millisecond, since a socket's timeout can't be zero.
fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}
