//! A server on a socket that gives scripted answers, whatever it is asked, and keeps what it was
//! asked.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Head of an answer that is a stream of events.
pub(super) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";

/// Most requests that are kept; a test sends fewer.
const REQUESTS: usize = 1000;

/// Starts a server that gives these answers, one for each connection, over and over; it runs until
/// the process ends. Returns its base URL, and what arrives.
pub(super) fn scripted(answers: Vec<String>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("bound"));
    let (sender, requests) = sync_channel(REQUESTS);
    std::thread::spawn(move || {
        for (connection, answer) in listener.incoming().zip(answers.iter().cycle()) {
            // The test doesn't care about clients that disconnect.
            let _ = connection.and_then(|stream| answer_one(stream, answer, &sender));
        }
    });
    (url, requests)
}

fn answer_one(mut stream: TcpStream, answer: &str, sender: &SyncSender<String>) -> std::io::Result<()> {
    let (mut request, mut piece) = (Vec::new(), [0; 1 << 12]);
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Ok(()); // The client is gone.
        }
        request.extend_from_slice(&piece[..count]);
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if request.len() - end - 4 >= length.unwrap_or(0) {
            break;
        }
    }
    let _ = sender.try_send(String::from_utf8_lossy(&request).into_owned());
    stream.write_all(answer.as_bytes())
}
