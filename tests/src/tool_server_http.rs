//! The MCP server of our own, behind a URL (streamable HTTP, answers as JSON).

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::tool_server::{Reply, around_text, message, reply};

type Body = BoxBody<Bytes, Infallible>;

/// A running server; dropping it ends it.
pub struct HttpToolServer {
    /// Where it listens.
    pub address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl HttpToolServer {
    /// Starts it on `address` (port 0: a free one).
    ///
    /// # Panics
    /// If the address can't be had.
    pub async fn start(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let service = service_fn(answer);
                let connection = hyper::server::conn::http1::Builder::new();
                connections.spawn(async move {
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, _tasks: tasks }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, std::io::Error> {
    if request.method() != Method::POST {
        return Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "text/plain", ""));
    }
    let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
    let request: Value = serde_json::from_slice(&body).map_err(std::io::Error::other)?;
    let blocking = request.clone();
    let reply = tokio::task::spawn_blocking(move || reply(&blocking, "good")).await?;
    let id = &request["id"];
    match &reply {
        Reply::None => Ok(plain(StatusCode::ACCEPTED, "text/plain", "")),
        Reply::Garbage => Ok(plain(StatusCode::OK, "application/json", "<html>Bad gateway</html>")),
        Reply::Silence => std::future::pending().await,
        // hyper closes the connection.
        Reply::Death => Err(std::io::ErrorKind::ConnectionReset.into()),
        Reply::Text(bytes) => Ok(flood(id, *bytes)),
        reply => {
            let text = message(id, reply).map(|message| message.to_string()).unwrap_or_default();
            Ok(plain(StatusCode::OK, "application/json", &text))
        }
    }
}

fn plain(status: StatusCode, kind: &str, text: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(text.to_owned())).boxed();
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, kind);
    response.body(body).expect("a plain response")
}

/// An answer that is made while it is read.
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
