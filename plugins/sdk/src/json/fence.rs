//! The fence of Markdown around a call's arguments: what may close one. [`super::Body`] asks about the bytes that it holds for that.

/// Bytes that a line which opens a fence may have, and white space before one that closes it.
pub(super) const FENCE: usize = 64;
/// Backticks of a fence.
pub(super) const TICKS: usize = 3;

/// Whether a fence may be closed by text that ends so.
pub(super) fn may_close(byte: u8) -> bool {
    byte == b'`' || byte.is_ascii_whitespace()
}

/// Backticks of what may close a fence.
pub(super) fn ticks(tail: &[u8]) -> usize {
    tail.iter().map(|byte| usize::from(*byte == b'`')).sum()
}

/// Whether `byte` after this still may close a fence: three backticks in a row, white space around them.
pub(super) fn goes_on(tail: &[u8], byte: u8) -> bool {
    let is_whole = matches!(ticks(tail), 0 | TICKS);
    tail.len() < FENCE
        && if byte == b'`' { ticks(tail) < TICKS && (is_whole || tail.ends_with(b"`")) } else { is_whole }
}
