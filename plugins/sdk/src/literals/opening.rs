//! Tells whether text begins a call, before the call is opened: prose may contain a format's
//! markers and brackets, too.
//!
//! Invariant: only the first [`HEAD`] bytes of the text decide, however the stream is cut into
//! chunks.

use crate::{begins_plausibly, is_plausible};

/// Length in bytes from which undecided text is taken for no call.
const HEAD: usize = 400;

/// What a text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening<'a> {
    /// Undecided: more text is needed.
    Unclear,
    /// No call.
    Other,
    /// A call: its name, and the number of bytes before its arguments.
    Call(&'a str, usize),
}

impl<'a> Opening<'a> {
    /// Looks for a call in Python: the tool's name, `suffix` (Llama's `.call`, or nothing), and
    /// keyword arguments in parentheses. Only the first argument, if there is any, is checked for a
    /// keyword.
    pub fn of_keywords(code: &'a str, suffix: &str) -> Self {
        Self::bounded(code, |known| {
            let Some((callee, arguments)) = known.split_once('(') else {
                return if begins_plausibly(known) { Self::Unclear } else { Self::Other };
            };
            let Some(name) = callee.strip_suffix(suffix).filter(|name| is_plausible(name)) else {
                return Self::Other;
            };
            let first = arguments.trim_ascii_start();
            let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte) || *byte >= 0x80;
            let key = first.bytes().take_while(is_key).count();
            match (key, first[key..].trim_ascii_start().as_bytes().first()) {
                (_, None) => Self::Unclear,
                (1.., Some(b'=')) | (0, Some(b')')) => Self::Call(name, callee.len() + 1),
                _ => Self::Other,
            }
        })
    }

    /// Decides by the first bytes of `text`: what `of` finds in them, and no call if that is
    /// undecided.
    pub fn bounded(text: &'a str, of: impl Fn(&'a str) -> Self) -> Self {
        match of(&text[..text.floor_char_boundary(HEAD)]) {
            Self::Unclear if text.len() >= HEAD => Self::Other,
            known => known,
        }
    }
}
