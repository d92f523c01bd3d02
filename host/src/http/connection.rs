//! One connection: hyper's HTTP/1.1 with limits on the head, ended by the client, by the server's stop, or by a stream in it
//! whose client reads nothing any more.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::server::App;

/// Cuts the connection that a request came on. Put into each request's extensions.
#[derive(Clone)]
pub(super) struct Cut(pub(super) CancellationToken);

/// Serves one connection to its end.
pub(super) async fn serve(app: App, router: Router, stream: TcpStream) {
    let cut = Cut(CancellationToken::new());
    let service = router.map_request({
        let cut = cut.clone();
        move |mut request: http::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(cut.clone());
            request.map(axum::body::Body::new)
        }
    });
    let limits = &app.limits;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_headers(limits.headers)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(64 << 10));
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    let stopping = app.stopping.clone();
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = cut.0.cancelled() => return,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            tokio::select! {
                result = connection.as_mut() => result,
                () = cut.0.cancelled() => return,
            }
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "connection ended");
    }
}

/// Applies the socket options that every connection has.
pub(super) fn prepare(stream: &TcpStream, send_buffer: usize) {
    let socket = socket2::SockRef::from(stream);
    // A refused option costs latency or memory, never correctness.
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_send_buffer_size(send_buffer);
}
