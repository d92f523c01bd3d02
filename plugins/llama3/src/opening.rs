//! Tells whether text after a marker begins a call, before the call is opened: prose may contain `<|python_tag|>` and `<function=`, too.
//!
//! Invariant: only the first [`HEAD`] bytes of the text decide, however the stream is cut into chunks.

use parser_sdk::{begins_plausibly, is_plausible};

/// Length in bytes from which undecided text is taken for no call.
const HEAD: usize = 160;

/// What the text after a marker begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening<'a> {
    /// Undecided: more text is needed.
    Unclear,
    /// No call.
    Other,
    /// A call: its name, and the number of bytes before its arguments.
    Call(&'a str, usize),
}

impl<'a> Opening<'a> {
    /// Looks for a call at the beginning of code: the tool's name, `suffix` (Llama's `.call`), and keyword arguments in parentheses. Only
    /// the first argument, if there is any, is checked for a keyword.
    pub(crate) fn of_code(code: &'a str, suffix: &str) -> Self {
        Self::bounded(code, |known| {
            let Some((callee, arguments)) = known.split_once('(') else {
                return if begins_plausibly(known) { Self::Unclear } else { Self::Other };
            };
            let Some(name) = callee.strip_suffix(suffix).filter(|name| is_plausible(name)) else {
                return Self::Other;
            };
            let first = arguments.trim_ascii_start();
            let key = first.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            match (key, first.as_bytes().get(key)) {
                (_, None) => Self::Unclear,
                (1.., Some(b'=')) | (0, Some(b')')) => Self::Call(name, callee.len() + 1),
                _ => Self::Other,
            }
        })
    }

    /// Looks for a call at the beginning of the text after `<function=`: `NAME>{…}`.
    pub(crate) fn of_element(text: &'a str) -> Self {
        Self::bounded(text, |known| {
            let (name, body) = known.split_once('>').unwrap_or((known, ""));
            let body = body.trim_ascii_start();
            match body.as_bytes().first() {
                _ if name.is_empty() || !begins_plausibly(name) => Self::Other,
                None => Self::Unclear,
                Some(b'{') if is_plausible(name) => Self::Call(name, known.len() - body.len()),
                Some(_) => Self::Other,
            }
        })
    }

    fn bounded(text: &'a str, of: impl Fn(&'a str) -> Self) -> Self {
        match of(&text[..text.floor_char_boundary(HEAD)]) {
            Self::Unclear if text.len() >= HEAD => Self::Other,
            known => known,
        }
    }
}
