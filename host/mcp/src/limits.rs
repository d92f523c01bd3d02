//! Bounds of tools that the server runs, with their default values, and the rows of those that the
//! operator can change.

use std::time::Duration;

bounds::limits! {
    /// Bounds of tools that the server runs.
    McpLimits, "Limits of tools that the server runs":

    start_time: Duration = Duration::from_secs(20), "mcp-start-seconds", Seconds, 1..=3600, "Time for a tool server to start and list its tools";
    call_time: Duration = Duration::from_mins(1), "mcp-call-seconds", Seconds, 1..=86_400, "Time for one call of a tool, unless the file of tool servers sets another";
    message_bytes: usize = 4 << 20, "mcp-message", Mib, 1..=1024, "Size of one message of a tool server";
    messages_per_second: u32 = 256, "mcp-messages", Count("MESSAGES"), 1..=1_000_000, "Messages of a tool server in a second, beside answers; one that sends more loses its connection";
    output_bytes: usize = 1 << 20, "mcp-output", Kib, 1..=1_048_576, "Length of a tool's output; a call with longer output fails";
    tools_per_server: usize = 128, "mcp-tools", Count("TOOLS"), 1..=10_000, "Tools used of one tool server";
    calls_per_server: usize = 16, "mcp-server-parallel", Count("CALLS"), 1..=1024, "Concurrent calls to one tool server";
    calls_at_once: usize = 8, "mcp-parallel", Count("CALLS"), 1..=1024, "Concurrent calls of one answer";
    turns: usize = 32, "mcp-turns", Count("TURNS"), 1..=1024, "Turns of the model in one answer";
}
