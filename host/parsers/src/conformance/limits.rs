//! Compares the highest use of each limit with the limit.

use super::ledger::PeakUse;
use crate::ParserLimits;

/// Bytes of derived text that each call may always have. It may have eight times its dropped bytes
/// in addition, which the turn itself enforces.
const DERIVED: usize = 256;

/// A limit: the name of the limited thing, its highest use, and the limit.
pub(super) struct Limited {
    pub(super) what: &'static str,
    pub(super) used: usize,
    pub(super) limit: usize,
    /// Whether a use beyond the limit is no failure by itself.
    pub(super) soft: bool,
}

/// Pairs each mark with its limit.
pub(super) fn beside(peak: &PeakUse, limits: &ParserLimits) -> [Limited; 4] {
    let limited = |what, used, limit| Limited { what, used, limit, soft: false };
    [
        limited("ops per step", peak.ops, limits.ops),
        limited("bytes held", peak.held, limits.held_bytes),
        Limited { soft: true, ..limited("derived bytes per call", peak.derived, DERIVED) },
        limited("bytes of memory", peak.memory, limits.memory_bytes),
    ]
}

/// Describes the first limit that was exceeded.
pub(super) fn passed(peak: &PeakUse, limits: &ParserLimits) -> Option<String> {
    let passed = |limited: &Limited| limited.used > limited.limit && !limited.soft;
    let found = beside(peak, limits).into_iter().find(passed)?;
    Some(format!("{} {}, the limit is {}", found.used, found.what, found.limit))
}
