//! Markdown fences around a call's arguments: which bytes may close one. [`super::ArgumentsText`]
//! holds those bytes until it is decided. Parsers drop what [`surplus`] counts.

/// Longest opening line of a fence, and longest held text that may close a fence, in bytes.
pub(super) const FENCE: usize = 64;
/// Number of backticks of a fence.
pub(super) const TICKS: usize = 3;

/// Bytes that mean nothing behind a call's JSON: white space, separators, surplus brackets and
/// quotes, the end of a fence.
const SURPLUS: &[u8] = b" \n\r\t,}]`\"";

/// Number of the first bytes of `text`, which stands behind a call's JSON, that mean nothing there.
pub fn surplus(text: &str) -> usize {
    text.bytes().take_while(|byte| SURPLUS.contains(byte)).count()
}

/// Whether `byte` may be part of the text that closes a fence.
pub(super) fn may_close(byte: u8) -> bool {
    byte == b'`' || byte.is_ascii_whitespace()
}

/// Number of backticks in `tail`, the held text that may close a fence.
pub(super) fn ticks(tail: &[u8]) -> usize {
    tail.iter().map(|byte| usize::from(*byte == b'`')).sum()
}

/// Whether `tail` with `byte` behind it may still close a fence: three backticks in a row, white
/// space around them.
pub(super) fn goes_on(tail: &[u8], byte: u8) -> bool {
    let is_whole = matches!(ticks(tail), 0 | TICKS);
    tail.len() < FENCE
        && if byte == b'`' { ticks(tail) < TICKS && (is_whole || tail.ends_with(b"`")) } else { is_whole }
}
