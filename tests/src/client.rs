//! HTTP client of the tests, with one connection per request. It returns the bytes of a body as
//! they arrive.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Answer whose body was read to its end.
#[derive(Debug)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Answer {
    /// Returns the body as JSON.
    ///
    /// # Panics
    /// If it isn't JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    /// Returns the events of an SSE body: the JSON of each `data:` line except `[DONE]`.
    ///
    /// # Panics
    /// If an event isn't JSON.
    pub fn events(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.body).expect("SSE is UTF-8");
        let data =
            text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).expect("an event is JSON")).collect()
    }
}

/// Sends a JSON value with `POST` and returns the whole answer.
///
/// # Panics
/// If the connection fails.
pub async fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    send(address, json_request(path, body.to_string())).await
}

/// Sends a `GET` request and returns the whole answer.
///
/// # Panics
/// If the connection fails.
pub async fn get(address: SocketAddr, path: &str) -> Answer {
    let request = Request::get(path).header("host", "localhost").body(Full::default()).expect("a request");
    send(address, request).await
}

/// Returns the value of a series in `/metrics`, given as its name with labels; zero if it isn't
/// listed. A series counts for the whole process.
///
/// # Panics
/// There is no answer, or the value is no number.
pub async fn metric(address: SocketAddr, series: &str) -> f64 {
    let text = String::from_utf8(get(address, "/metrics").await.body.to_vec()).expect("text");
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().expect("a number"))
}

/// The JSON that answers a `POST` request with a JSON body.
///
/// # Panics
/// If the answer's status isn't 200, or as [`post`].
pub async fn answered(address: SocketAddr, path: &str, body: &Value) -> Value {
    let answer = post(address, path, body).await;
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

/// Builds a `POST` request with a JSON body.
///
/// # Panics
/// If `path` isn't a path.
pub fn json_request(path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(body.into()))
        .expect("a request")
}

/// Sends a request and returns the whole answer, which must come within a minute.
///
/// # Panics
/// If the connection fails.
pub async fn send(address: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
    try_send(address, request).await.expect("an answer")
}

/// Sends a request to a server that may be gone, and returns the whole answer, which must come
/// within a minute.
///
/// # Errors
/// There is no answer.
///
/// # Panics
/// If it takes too long.
pub async fn try_send(address: SocketAddr, request: Request<Full<Bytes>>) -> anyhow::Result<Answer> {
    let whole = async {
        let mut open = try_open(address, request).await?;
        let mut body = Vec::new();
        while let Some(bytes) = open.next().await {
            body.extend_from_slice(&bytes);
        }
        Ok(Answer { status: open.status, headers: std::mem::take(&mut open.headers), body: body.into() })
    };
    tokio::time::timeout(Duration::from_mins(1), whole).await.expect("an answer within a minute")
}

/// Answer whose body is still being received. Dropping it closes the connection.
pub struct Open {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    body: Incoming,
    connection: tokio::task::JoinHandle<()>,
}

impl Open {
    /// Returns the next chunk of the body; `None` at its end.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            let frame = self.body.frame().await?.ok()?;
            if let Ok(data) = frame.into_data() {
                return Some(data);
            }
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Sends a request and returns when the answer's head has arrived.
///
/// # Panics
/// If the connection fails.
pub async fn open(address: SocketAddr, request: Request<Full<Bytes>>) -> Open {
    try_open(address, request).await.expect("an answer")
}

/// Sends a request to a server that may be gone, and returns when the answer's head has arrived.
///
/// # Errors
/// There is no answer.
pub async fn try_open(address: SocketAddr, request: Request<Full<Bytes>>) -> anyhow::Result<Open> {
    open_on(TcpStream::connect(address).await?, request).await
}

/// As [`try_open`], on a connection that is open.
///
/// # Errors
/// There is no answer.
pub async fn open_on<S>(stream: S, request: Request<Full<Bytes>>) -> anyhow::Result<Open>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    #[expect(clippy::disallowed_methods, reason = "owned by the Open, which aborts it")]
    let connection = tokio::spawn(async move {
        let _ = connection.await;
    });
    let (head, body) = sender.send_request(request).await?.into_parts();
    Ok(Open { status: head.status, headers: head.headers, body, connection })
}
