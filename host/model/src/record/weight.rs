//! Memory that JSON takes once it is read, estimated from its text before it is.
//!
//! Invariant: each value costs, since two bytes of text (`0,`) may become a hundred of memory.
//! Brackets and commas inside strings count too: a string may hold JSON that is read later.

/// Memory of a value in a structure of its own type, in bytes: a token's log-probability with room
/// to grow.
const TYPED: usize = 64;
/// Memory of a value of any type, in bytes: the smallest list or map that has room for four.
const UNTYPED: usize = 320;
/// Beginning of a line of events.
pub(super) const EVENTS: &[u8] = br#"{"events":"#;
/// Beginnings of lines whose values have types of their own.
const TYPED_LINES: [&[u8]; 2] = [br#"{"step":"#, EVENTS];

/// Bytes of memory that JSON of any shape may take.
pub fn json_weight(text: &[u8]) -> usize {
    weight(text, UNTYPED)
}

/// Bytes of memory that a record's line may take.
pub(super) fn line_weight(line: &[u8]) -> usize {
    let is_typed = TYPED_LINES.iter().any(|start| line.starts_with(start));
    weight(line, if is_typed { TYPED } else { UNTYPED })
}

fn weight(text: &[u8], value: usize) -> usize {
    let begins_value = |byte: &&u8| matches!(byte, b',' | b':' | b'[' | b'{');
    text.len() + text.iter().filter(begins_value).count().saturating_mul(value)
}
