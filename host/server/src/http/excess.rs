//! Answers requests on excess connections.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, header};

use crate::accept::app::App;
use crate::accept::body::discard_unasked;
use crate::accept::capacity::Admission;
use crate::http::answer::refuse;
use crate::http::probes::is_probe;
use api::error::ApiError;

/// Middleware: 503 with `Retry-After` for a request on an excess connection, which then closes.
/// Probes are answered as usual.
pub(crate) async fn refuse_excess(State(app): State<App>, request: Request, next: Next) -> Response {
    if request.extensions().get() != Some(&Admission::Excess) {
        return next.run(request).await;
    }
    let mut response = if is_probe(request.uri().path()) {
        next.run(request).await
    } else {
        discard_unasked(request, &app.limits.http).await;
        refuse(&ApiError::unavailable("Too many connections are open. Please try again."))
    };
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
