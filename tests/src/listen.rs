//! Listener that passes HTTP requests to a function; the tests' own tool servers use it.

use std::net::SocketAddr;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::tool_server_http::Body;

/// Listener that serves connections until it is dropped.
pub(crate) struct Listening {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Listening {
    /// Starts on `address` (port 0: a free one).
    ///
    /// # Panics
    /// If the address can't be bound.
    pub(crate) async fn start<A>(
        address: SocketAddr,
        answer: impl Fn(Request<Incoming>) -> A + Clone + Send + 'static,
    ) -> Self
    where
        A: Future<Output = Result<Response<Body>, std::io::Error>> + Send,
    {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let connection = hyper::server::conn::http1::Builder::new();
                let connection =
                    connection.serve_connection(TokioIo::new(stream), service_fn(answer.clone()));
                connections.spawn(async move {
                    let _ended = connection.await;
                });
            }
        });
        Self { address, _tasks: tasks }
    }

    /// URL of scheme, address and port.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }
}
