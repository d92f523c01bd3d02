//! Tells whether text after `<function=`, or in a Markdown fence, begins a call, before the call is
//! opened: prose may contain these, too.

use parser_sdk::literals::Opening;
use parser_sdk::{begins_plausibly, is_plausible};

/// Looks for a call at the beginning of the text after `<function=`: `NAME>{…}`.
pub(crate) fn of_element(text: &str) -> Opening<'_> {
    Opening::bounded(text, |known| {
        let (name, body) = known.split_once('>').unwrap_or((known, ""));
        let body = body.trim_ascii_start();
        match body.as_bytes().first() {
            _ if name.is_empty() || !begins_plausibly(name) => Opening::Other,
            None => Opening::Unclear,
            Some(b'{') if is_plausible(name) => Opening::Call(name, known.len() - body.len()),
            Some(_) => Opening::Other,
        }
    })
}

/// Looks for an object or a list at the beginning of a fence, with a language or without: it begins
/// where [`Opening::Call`] says, and has no name yet.
pub(crate) fn after_fence(text: &str) -> Opening<'_> {
    Opening::bounded(text, |known| {
        let line = known.trim_start_matches('`');
        let code = line
            .trim_start_matches(|char: char| char.is_ascii_alphanumeric() || char == '_')
            .trim_ascii_start();
        match (known.len() - line.len(), code.as_bytes().first()) {
            (3, Some(b'{' | b'[')) => Opening::Call("", known.len() - code.len()),
            (0..=3, None) => Opening::Unclear,
            _ => Opening::Other,
        }
    })
}
