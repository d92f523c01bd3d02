//! How text begins that may be one call of a tool, before it is open. Formats ask that announce calls by markers which prose may hold too.
//!
//! Invariant: only so much of the text decides as a call's head may have, however it was cut.

use parser_sdk::{begins_plausibly, is_plausible};

/// Longest head of a call that is waited for, in bytes.
const HEAD: usize = 160;

/// What text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening<'a> {
    /// That isn't clear yet.
    Unclear,
    /// No call.
    Other,
    /// A call of this name; so many bytes stand before its arguments.
    Call(&'a str, usize),
}

impl<'a> Opening<'a> {
    /// How code begins, where a call is spelt as the tool's name, `suffix` (llama's `.call`), and keywords in parentheses: the first
    /// argument, if there is any, must have one.
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

    /// How an element goes on whose tag ends in the tool's name, `NAME>{…}`.
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
