//! Response of server-sent events.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, header};

use crate::answer::SseBody;
use crate::http::answer::typed;

/// The response that sends a log's events as server-sent events.
pub(crate) fn event_stream(body: SseBody) -> Response {
    let mut response = typed(200, "text/event-stream; charset=utf-8", Body::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
