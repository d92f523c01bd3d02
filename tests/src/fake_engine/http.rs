//! Reader of HTTP requests on bare sockets, and plain answers to them.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A request's head, as it came and in lower case, and its body.
pub(super) struct Received {
    pub(super) raw: Vec<u8>,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

/// Reads the next request; `None` if the client has disconnected.
pub(super) async fn receive(socket: &mut TcpStream) -> std::io::Result<Option<Received>> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        match socket.read(&mut buffer).await? {
            0 => return Ok(None),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end);
    let raw = bytes;
    while body.len() < length {
        match socket.read(&mut buffer).await? {
            0 => return Ok(None),
            count => body.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(Some(Received { raw, head, body }))
}

/// Response with this JSON body; 404 without one.
pub(super) fn plain(body: Option<&String>) -> Vec<u8> {
    let (status, body) = body.map_or(("404 Not Found", ""), |body| ("200 OK", body.as_str()));
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
