//! Refusals of what isn't there: routes, methods, traces, web sockets. The transport makes them
//! before any body is read.

use super::error::ApiError;
use net::printable::printable;

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

    /// 404: the server keeps no traces of answers.
    pub fn no_traces() -> Self {
        let message =
            "This server keeps no traces of answers: start it with --inspect or --record to look into them.";
        Self::new(404, "invalid_request_error", "not_found", message)
    }

    /// 404: the answer with this number has no trace.
    pub fn no_trace(id: &str) -> Self {
        let id = printable(id);
        let message = format!("No answer `{id}` has a trace: see GET /admin/answers for those that have.");
        Self::new(404, "invalid_request_error", "trace_not_found", message)
    }

    /// 426: a WebSocket is asked for where the operator switched them off.
    pub fn no_web_socket() -> Self {
        let message = "This server has no WebSockets: send POST /v1/responses with `stream: true`.";
        Self::new(426, "invalid_request_error", "websocket_not_supported", message)
    }

    /// 426: an upgrade to something else than version 13 of the WebSocket protocol.
    pub fn bad_upgrade() -> Self {
        let message = "GET is supported for an upgrade to a WebSocket only: send `Upgrade: websocket`, `Connection: Upgrade` and `Sec-WebSocket-Version: 13` with HTTP/1.1.";
        Self::new(426, "invalid_request_error", "upgrade_not_supported", message)
    }

    /// 400: an upgrade to a WebSocket without its key.
    pub fn bad_web_socket_key() -> Self {
        let message = "Sec-WebSocket-Key: expected 16 bytes in base64, as RFC 6455 has it.";
        Self::new(400, "invalid_request_error", "invalid_websocket_key", message)
    }

    /// 405: the route exists, for other methods (`allowed`, e.g. `POST`).
    pub fn method_not_allowed(method: &str, allowed: &str) -> Self {
        let message = format!("Method {} is not allowed here: use {allowed}.", printable(method));
        Self::new(405, "invalid_request_error", "method_not_allowed", message)
    }
}
