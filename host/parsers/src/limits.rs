//! Bounds of a parser, with their default values, and the rows of those that the operator can change.

use std::time::Duration;

use bounds::Field::{Time, U32, U64, Usize};
use bounds::Unit::{Count, Kib, Mib, Milliseconds};
use bounds::{Bound, Bounded, bound};

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

impl Bounded for ParserLimits {
    const HEADING: &'static str = "Limits of parsers";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("parser-memory", Mib, 1..=1024, "Memory of a parser for each stream; parsers in Python need 64", |l| Usize(&mut l.memory_bytes)),
        bound("parser-call-time", Milliseconds, 1..=10_000, "CPU time of one call of a parser", |l| Time(&mut l.call_time)),
        bound("parser-share", Count("PERCENT"), 1..=100, "CPU time of a parser, in percent of its stream's duration, beyond the allowance of 200 calls", |l| U32(&mut l.stream_share)),
        bound("parser-file", Mib, 1..=1024, "Size of a parser's file", |l| U64(&mut l.file_bytes)),
        bound("parser-held", Kib, 1..=65_536, "Text that a parser may hold undecided", |l| Usize(&mut l.held_bytes)),
    ];
}
