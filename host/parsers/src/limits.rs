//! Bounds of a parser.

use std::time::Duration;

/// Bounds of a parser.
#[derive(Debug, Clone)]
pub struct ParserLimits {
    /// Maximum size of a plugin file, in bytes.
    pub file_bytes: u64,
    /// Maximum size of linear memory, in bytes.
    pub memory_bytes: usize,
    /// CPU time limit of one call.
    pub call_time: Duration,
    /// CPU time of all calls, in percent of the stream's time; the time of 200 calls is free.
    pub stream_share: u32,
    /// Size of the Wasm stack, in bytes.
    pub stack_bytes: usize,
    /// Bytes that one call may return to the host.
    pub hostcall_fuel: usize,
    /// Maximum number of ops of one step.
    pub ops: usize,
    /// Maximum size of held text, in bytes.
    pub held_bytes: usize,
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self {
            file_bytes: 32 << 20,
            memory_bytes: 16 << 20,
            call_time: Duration::from_millis(5),
            stream_share: 5,
            stack_bytes: 256 << 10,
            hostcall_fuel: 1 << 20,
            ops: 4096,
            held_bytes: turn::TurnSettings::HELD_BYTES,
        }
    }
}
