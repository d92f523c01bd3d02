//! Refusals of what isn't there: routes, methods, web sockets. The transport makes them before any body is read.

use super::error::ApiError;
use crate::printable::printable;

impl ApiError {
    /// 404: no such route.
    pub fn not_found(method: &str, path: &str) -> Self {
        let message = format!(
            "No route {} {}: see GET /v1/models for a route that exists.",
            printable(method),
            printable(path)
        );
        Self::new(404, "invalid_request_error", "not_found", message)
    }

    /// 426: a WebSocket is asked for where there is none.
    pub fn no_web_socket() -> Self {
        let message = "This server has no WebSockets: send POST /v1/responses with `stream: true`.";
        Self::new(426, "invalid_request_error", "websocket_not_supported", message)
    }

    /// 405: the route exists, for other methods (`allowed`, e.g. `POST`).
    pub fn method_not_allowed(method: &str, allowed: &str) -> Self {
        let message = format!("Method {} is not allowed here: use {allowed}.", printable(method));
        Self::new(405, "invalid_request_error", "method_not_allowed", message)
    }
}
