//! All bounds of a server, and those of connections, streams and web sockets, with their default
//! values and the rows of those that the operator can change.

use std::time::Duration;

use api::limits::RequestLimits;
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

bounds::limits! {
    /// Bounds of connections, streams and web sockets.
    HttpLimits, "Limits":

    body_bytes: usize = 32 << 20, "max-body", Mib, 1..=1024, "Size of a request's body";
    connections: usize = 1 << 14, "max-connections", Count("CONNECTIONS"), 1..=1_000_000, "Concurrent connections; requests on further ones get 503, except `/health`";
    header_bytes: usize = 64 << 10, "max-header", Kib, 8..=1024, "Size of a request's header block";
    headers: usize = 64, "max-headers", Count("FIELDS"), 16..=1024, "Header fields of a request";
    header_time: Duration = Duration::from_secs(5), "header-seconds", Seconds, 1..=600, "Time for a request's header block to arrive, from its first byte on";
    idle_time: Duration = Duration::from_secs(75), "idle-seconds", Seconds, 1..=3600, "Time that a connection may wait for its client's next request";
    body_time: Duration = Duration::from_mins(1), "body-seconds", Seconds, 1..=3600, "Time for a request's body to arrive";
    page_bytes: usize = 8 << 20, "max-page", Mib, 1..=1024, "Size of a page of a list of what is stored; a page with more ends earlier, and says that more follows";
    send_buffer: usize = 128 << 10, "send-buffer", Kib, 4..=16_384, "Size of the kernel's send buffer of a connection";
    socket_time: Duration = Duration::from_hours(1), "websocket-seconds", Seconds, 1..=86_400, "Time for which a WebSocket may be used; then its client opens another one";
    remembered_memory: usize = 256 << 20, "websocket-memory", Mib, 1..=1_048_576, "Unstored responses (`store: false`) that all WebSockets together keep in memory to be continued, 64 MiB of one at most; with several keys, one may have half of it";
    slow_reader: Duration = Duration::from_secs(30), "slow-reader-seconds", Seconds, 1..=3600, "Time after which a client that reads nothing is cut off";
    keep_alive: Duration = Duration::from_secs(5), "keep-alive-seconds", Seconds, 1..=3600, "Silence of a stream after which an SSE comment is sent";
    heartbeat: Duration = Duration::from_secs(15), "heartbeat-seconds", Seconds, 1..=3600, "Silence of a stream after which a heartbeat event is sent, if the protocol has one";
    grace: Duration = Duration::from_secs(30), "grace-seconds", Seconds, 1..=3600, "Time for running streams to end after the signal to stop";
    /// Time for which the rest of a refused body or head is read and discarded.
    rest_time: Duration = Duration::from_secs(2);
    /// Maximum number of lanes of a WebSocket that have names.
    socket_lanes: usize = 32;
    /// Maximum number of responses that a WebSocket generates at a time.
    socket_running: usize = 16;
    /// Maximum number of requests of a WebSocket that wait for their turn.
    socket_waiting: usize = 256;
    /// Bytes of unstored responses that one WebSocket remembers.
    socket_memory: usize = 64 << 20;
}
