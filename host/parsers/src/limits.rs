//! Bounds of a parser, with their default values, and the rows of those that the operator can change.

use std::time::Duration;

bounds::limits! {
    /// Bounds of a parser.
    ParserLimits, "Limits of parsers":

    memory_bytes: usize = 16 << 20, "parser-memory", Mib, 1..=1024, "Memory of a parser for each stream; parsers in Python need 64";
    call_time: Duration = Duration::from_millis(5), "parser-call-time", Milliseconds, 1..=10_000, "CPU time of one call of a parser";
    stream_share: u32 = 5, "parser-share", Count("PERCENT"), 1..=100, "CPU time of a parser, in percent of its stream's duration, beyond the allowance of 200 calls";
    file_bytes: u64 = 32 << 20, "parser-file", Mib, 1..=1024, "Size of a parser's file";
    held_bytes: usize = turn::TurnSettings::HELD_BYTES, "parser-held", Kib, 1..=65_536, "Text that a parser may hold undecided";
    /// Size of the Wasm stack, in bytes.
    stack_bytes: usize = 256 << 10;
    /// Bytes that one call may return to the host.
    hostcall_fuel: usize = 1 << 20;
    /// Maximum number of ops of one step.
    ops: usize = 4096;
}
