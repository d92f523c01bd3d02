//! Bounds of tools that the server runs, with their default values, and the rows of those that the
//! operator can change.

use std::time::Duration;

use bounds::Field::{Time, U32, Usize};
use bounds::Unit::{Count, Kib, Mib, Seconds};
use bounds::{Bound, Bounded, bound};

/// Bounds of tools that the server runs.
#[derive(Debug, Clone)]
pub struct McpLimits {
    /// Time for a tool server to start and to list its tools.
    pub start_time: Duration,
    /// Time limit of one call, if the operator's file doesn't set one.
    pub call_time: Duration,
    /// Maximum size of one message of a tool server, in bytes.
    pub message_bytes: usize,
    /// Maximum number of messages of a tool server in a second, in addition to its answers; unused
    /// ones of four seconds are kept. Every 64 KiB count as one more.
    pub messages_per_second: u32,
    /// Maximum size of a call's output, in bytes.
    pub output_bytes: usize,
    /// Maximum number of tools of one server.
    pub tools_per_server: usize,
    /// Maximum number of concurrent calls to one server.
    pub calls_per_server: usize,
    /// Maximum number of concurrent calls of one answer.
    pub calls_at_once: usize,
    /// Maximum number of turns of one answer.
    pub turns: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start_time: Duration::from_secs(20),
            call_time: Duration::from_mins(1),
            message_bytes: 4 << 20,
            messages_per_second: 256,
            output_bytes: 1 << 20,
            tools_per_server: 128,
            calls_per_server: 16,
            calls_at_once: 8,
            turns: 32,
        }
    }
}

impl Bounded for McpLimits {
    const HEADING: &'static str = "Limits of tools that the server runs";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("mcp-start-seconds", Seconds, 1..=3600, "Time for a tool server to start and list its tools", |l| Time(&mut l.start_time)),
        bound("mcp-call-seconds", Seconds, 1..=86_400, "Time for one call of a tool, unless the file of tool servers sets another", |l| Time(&mut l.call_time)),
        bound("mcp-message", Mib, 1..=1024, "Size of one message of a tool server", |l| Usize(&mut l.message_bytes)),
        bound("mcp-messages", Count("MESSAGES"), 1..=1_000_000, "Messages of a tool server in a second, beside answers; one that sends more loses its connection", |l| U32(&mut l.messages_per_second)),
        bound("mcp-output", Kib, 1..=1_048_576, "Length of a tool's output; a call with longer output fails", |l| Usize(&mut l.output_bytes)),
        bound("mcp-tools", Count("TOOLS"), 1..=10_000, "Tools used of one tool server", |l| Usize(&mut l.tools_per_server)),
        bound("mcp-server-parallel", Count("CALLS"), 1..=1024, "Concurrent calls to one tool server", |l| Usize(&mut l.calls_per_server)),
        bound("mcp-parallel", Count("CALLS"), 1..=1024, "Concurrent calls of one answer", |l| Usize(&mut l.calls_at_once)),
        bound("mcp-turns", Count("TURNS"), 1..=1024, "Turns of the model in one answer", |l| Usize(&mut l.turns)),
    ];
}
