//! All bounds of a server, and those of connections, streams and web sockets, with their default
//! values and the rows of those that the operator can change.

use std::time::Duration;

use api::limits::RequestLimits;
use bounds::Field::{Time, Usize};
use bounds::Unit::{Count, Kib, Mib, Seconds};
use bounds::{Bound, Bounded, bound};
use mcp::McpLimits;
use model::limits::ModelLimits;

/// All bounds of a server.
#[derive(Debug, Clone, Default)]
pub struct ServerLimits {
    /// Bounds of connections, streams and web sockets.
    pub http: HttpLimits,
    /// Bounds of what a request may say.
    pub request: RequestLimits,
    /// Bounds of requests' memory and CPU time, of prompts, parsers, masks and engines.
    pub model: ModelLimits,
    /// Bounds of tools that the server runs.
    pub mcp: McpLimits,
}

/// Bounds of connections, streams and web sockets.
#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// Maximum size of a request body, in bytes.
    pub body_bytes: usize,
    /// Maximum size of a request's header block, in bytes.
    pub header_bytes: usize,
    /// Maximum number of open connections; those to the admin address don't count.
    pub connections: usize,
    /// Maximum number of header fields.
    pub headers: usize,
    /// Time for a request's head to arrive.
    pub header_time: Duration,
    /// How long a connection may wait for its client's next request.
    pub idle_time: Duration,
    /// Time for a request's body to arrive.
    pub body_time: Duration,
    /// Time for which the rest of a refused body or head is read and discarded.
    pub rest_time: Duration,
    /// Maximum size of a page of what is stored, in bytes; its first element comes whatever its
    /// size.
    pub page_bytes: usize,
    /// Time after which a client that reads nothing is disconnected.
    pub slow_reader: Duration,
    /// Time without output after which a comment is sent.
    pub keep_alive: Duration,
    /// Time without events after which a heartbeat event of the protocol is sent.
    pub heartbeat: Duration,
    /// Time that streams get to end when the server stops.
    pub grace: Duration,
    /// Size of a connection's send buffer in the kernel, in bytes.
    pub send_buffer: usize,
    /// Time for which a WebSocket may be used.
    pub socket_time: Duration,
    /// Maximum number of lanes of a WebSocket that have names.
    pub socket_lanes: usize,
    /// Maximum number of responses that a WebSocket generates at a time.
    pub socket_running: usize,
    /// Maximum number of requests of a WebSocket that wait for their turn.
    pub socket_waiting: usize,
    /// Bytes of unstored responses that one WebSocket remembers.
    pub socket_memory: usize,
    /// Bytes of unstored responses that all web sockets remember.
    pub remembered_memory: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            header_bytes: 64 << 10,
            connections: 1 << 14,
            headers: 64,
            header_time: Duration::from_secs(5),
            idle_time: Duration::from_secs(75),
            body_time: Duration::from_mins(1),
            rest_time: Duration::from_secs(2),
            page_bytes: 8 << 20,
            slow_reader: Duration::from_secs(30),
            keep_alive: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(30),
            send_buffer: 128 << 10,
            socket_time: Duration::from_hours(1),
            socket_lanes: 32,
            socket_running: 16,
            socket_waiting: 256,
            socket_memory: 64 << 20,
            remembered_memory: 256 << 20,
        }
    }
}

impl Bounded for HttpLimits {
    const HEADING: &'static str = "Limits";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("max-body", Mib, 1..=1024, "Size of a request's body", |l| Usize(&mut l.body_bytes)),
        bound("max-connections", Count("CONNECTIONS"), 1..=1_000_000, "Concurrent connections; requests on further ones get 503, except `/health`", |l| Usize(&mut l.connections)),
        bound("max-header", Kib, 8..=1024, "Size of a request's header block", |l| Usize(&mut l.header_bytes)),
        bound("max-headers", Count("FIELDS"), 16..=1024, "Header fields of a request", |l| Usize(&mut l.headers)),
        bound("header-seconds", Seconds, 1..=600, "Time for a request's header block to arrive, from its first byte on", |l| Time(&mut l.header_time)),
        bound("idle-seconds", Seconds, 1..=3600, "Time that a connection may wait for its client's next request", |l| Time(&mut l.idle_time)),
        bound("body-seconds", Seconds, 1..=3600, "Time for a request's body to arrive", |l| Time(&mut l.body_time)),
        bound("max-page", Mib, 1..=1024, "Size of a page of a list of what is stored; a page with more ends earlier, and says that more follows", |l| Usize(&mut l.page_bytes)),
        bound("send-buffer", Kib, 4..=16_384, "Size of the kernel's send buffer of a connection", |l| Usize(&mut l.send_buffer)),
        bound("websocket-seconds", Seconds, 1..=86_400, "Time for which a WebSocket may be used; then its client opens another one", |l| Time(&mut l.socket_time)),
        bound("websocket-memory", Mib, 1..=1_048_576, "Unstored responses (`store: false`) that all WebSockets together keep in memory to be continued, 64 MiB of one at most; with several keys, one may have half of it", |l| Usize(&mut l.remembered_memory)),
        bound("slow-reader-seconds", Seconds, 1..=3600, "Time after which a client that reads nothing is cut off", |l| Time(&mut l.slow_reader)),
        bound("keep-alive-seconds", Seconds, 1..=3600, "Silence of a stream after which an SSE comment is sent", |l| Time(&mut l.keep_alive)),
        bound("heartbeat-seconds", Seconds, 1..=3600, "Silence of a stream after which a heartbeat event is sent, if the protocol has one", |l| Time(&mut l.heartbeat)),
        bound("grace-seconds", Seconds, 1..=3600, "Time for running streams to end after the signal to stop", |l| Time(&mut l.grace)),
    ];
}
