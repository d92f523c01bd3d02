//! The hostile MCP server behind a URL (streamable HTTP, answers as JSON).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use serde_json::Value;

use crate::listen::Listening;
use crate::tool_lifecycle::MODERN;
use crate::tool_server::{Reply, ToolServer, around_text, message, spam_event};

pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// Running server; dropping it stops it.
pub struct HttpToolServer {
    listening: Listening,
    state: Arc<State>,
}

struct State {
    tools: ToolServer,
    /// Number of requests being answered, and its peak.
    open: AtomicUsize,
    most: AtomicUsize,
    /// Trace contexts of calls, in their headers and in their messages.
    contexts: Mutex<Vec<(Value, Value)>>,
}

impl HttpToolServer {
    /// Starts a server on `address` (port 0: a free one).
    ///
    /// # Panics
    /// If the address can't be bound.
    pub async fn start(address: SocketAddr) -> Self {
        Self::start_as("good", address).await
    }

    /// Starts a server with another `listing` ([`ToolServer::new`]).
    ///
    /// # Panics
    /// If the address can't be bound.
    pub async fn start_as(listing: &str, address: SocketAddr) -> Self {
        let state = Arc::new(State {
            tools: ToolServer::new(listing),
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            contexts: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let listening = Listening::start(address, move |request| answer(request, Arc::clone(&shared)));
        Self { listening: listening.await, state }
    }

    /// URL of the MCP endpoint.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.listening.base_url())
    }

    /// Number of clients that asked for the lifecycle without a handshake.
    pub fn discovered(&self) -> usize {
        self.state.tools.discovered()
    }

    /// Number of requests being answered now.
    pub fn open_requests(&self) -> usize {
        self.state.open.load(Ordering::Relaxed)
    }

    /// Trace contexts of calls, in their headers and in their messages.
    pub fn contexts(&self) -> Vec<(Value, Value)> {
        self.state.contexts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Peak number of requests that were being answered at the same time.
    pub fn most_open_requests(&self) -> usize {
        self.state.most.load(Ordering::Relaxed)
    }
}

/// Guard that counts a request while its answer is awaited.
struct Open(Arc<State>);

impl Open {
    fn new(state: Arc<State>) -> Self {
        let open = state.open.fetch_add(1, Ordering::Relaxed) + 1;
        state.most.fetch_max(open, Ordering::Relaxed);
        Self(state)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn answer(request: Request<Incoming>, state: Arc<State>) -> Result<Response<Body>, std::io::Error> {
    if request.method() != Method::POST {
        return Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "text/plain", ""));
    }
    let headers = request.headers().clone();
    let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
    let request: Value = serde_json::from_slice(&body).map_err(std::io::Error::other)?;
    let is_told = |name: &str, value: &Value| {
        headers.get(name).is_some_and(|told| value == told.to_str().unwrap_or_default())
    };
    let is_complete =
        is_told("mcp-protocol-version", &MODERN.into()) && is_told("mcp-method", &request["method"]);
    if state.tools.is_modern() && !is_complete {
        return Ok(plain(StatusCode::BAD_REQUEST, "text/plain", "no version or method"));
    }
    if request["method"] == "tools/call" {
        let told = headers.get("traceparent").map(|told| told.to_str().unwrap_or_default());
        let contexts = (told.into(), request["params"]["_meta"]["traceparent"].clone());
        state.contexts.lock().unwrap_or_else(PoisonError::into_inner).push(contexts);
    }
    let open = Open::new(Arc::clone(&state));
    let blocking = request.clone();
    let reply = tokio::task::spawn_blocking(move || state.tools.reply(&blocking)).await?;
    let id = &request["id"];
    match &reply {
        Reply::None => Ok(plain(StatusCode::ACCEPTED, "text/plain", "")),
        Reply::Garbage => Ok(plain(StatusCode::OK, "application/json", "<html>Bad gateway</html>")),
        Reply::Silence => {
            let _open = open;
            std::future::pending().await
        }
        // hyper closes the connection after an error.
        Reply::Death => Err(std::io::ErrorKind::ConnectionReset.into()),
        Reply::Text(bytes) => Ok(flood(id, *bytes)),
        Reply::Spam(kind) => Ok(endless(kind.clone())),
        reply => {
            let text = message(id, reply).map(|message| message.to_string()).unwrap_or_default();
            Ok(plain(StatusCode::OK, "application/json", &text))
        }
    }
}

pub(crate) fn plain(status: StatusCode, kind: &str, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(text.to_owned())).boxed();
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, kind);
    response.body(body).expect("a plain response")
}

/// Event stream of a flood.
fn endless(kind: String) -> Response<Body> {
    let events = (0..).map(move |n| Ok(Frame::data(Bytes::from(spam_event(&kind, n)))));
    let body = BodyExt::boxed(StreamBody::new(futures_util::stream::iter(events)));
    let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    response.body(body).expect("a plain response")
}

/// Response whose body is made while it is sent.
fn flood(id: &Value, bytes: usize) -> Response<Body> {
    let (before, behind) = around_text(id);
    let chunk = Bytes::from(vec![b'x'; 1 << 20]);
    let chunks = std::iter::once(Bytes::from(before))
        .chain(std::iter::repeat_n(chunk, bytes >> 20))
        .chain(std::iter::once(Bytes::from(behind)));
    let frames = futures_util::stream::iter(chunks.map(|chunk| Ok(Frame::data(chunk))));
    let response = Response::builder().header(header::CONTENT_TYPE, "application/json");
    response.body(BodyExt::boxed(StreamBody::new(frames))).expect("a plain response")
}
