//! The log's line of each request.

use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use crate::http::answer::RequestId;
use crate::http::probes::is_probe;
use crate::server_metrics::REQUESTS;

/// Middleware: logs one line per request, without any of its text.
pub(crate) async fn log(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("(none)".to_owned(), |path| path.as_str().to_owned());
    let method = method_name(request.method());
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    ::metrics::counter!(REQUESTS.name(), "route" => route.clone(), "status" => status.to_string())
        .increment(1);
    let ms = whole_ms(began.elapsed());
    if is_probe(&route) {
        // Probes come every few seconds, for ever.
        tracing::debug!(%id, method, %route, status, ms, "answered");
    } else {
        tracing::info!(%id, method, %route, status, ms, "answered");
    }
    response
}

/// Milliseconds for the log: 64 bits, since the log writes a `u128` as a string in JSON.
pub(crate) fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Name of a method for the log, which must not hold a word that a client made up.
fn method_name(method: &Method) -> &'static str {
    let known = [
        Method::GET,
        Method::POST,
        Method::OPTIONS,
        Method::HEAD,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::CONNECT,
        Method::TRACE,
    ];
    let names = ["GET", "POST", "OPTIONS", "HEAD", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE"];
    known.iter().position(|known| known == method).map_or("(other)", |at| names[at])
}
