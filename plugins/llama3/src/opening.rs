//! Tells whether text after `<function=` begins a call, before the call is opened: prose may
//! contain the marker, too.

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
