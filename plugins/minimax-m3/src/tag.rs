//! The tag behind the namespace's marker: `<city>`, `</city>`, `<invoke name="get_weather">`.
//!
//! Invariant: the result doesn't depend on how the tag was cut into chunks, and no more than a
//! bounded length of it is held.

use parser_sdk::Tools;

/// Longest tag, in bytes, with the white space before it.
const LONGEST: usize = 256;
/// Tag of a block of calls.
pub(crate) const BLOCK: &str = "tool_call";
/// Tag of a call.
pub(crate) const CALL: &str = "invoke";

/// What the text behind the marker is, as far as it has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tag {
    Unfinished,
    /// No tag.
    Nothing,
    /// `<NAME>`.
    Open(String),
    /// `</NAME>`.
    Close(String),
    /// `<invoke name="NAME">`.
    Call(String),
}

/// Reads the text behind the marker. Returns the tag and how much of the text it is, or how much of
/// it showed that it is none.
pub(crate) fn read(text: &str) -> (Tag, usize) {
    let blank = text.len() - text.trim_start().len();
    let begins = text[blank..].starts_with('<');
    let end = if begins { text[blank + 1..].find(['>', '<', '\n']).map(|end| blank + 1 + end) } else { None };
    let most = text.floor_char_boundary(LONGEST);
    match end {
        Some(end) if end <= most && text[end..].starts_with('>') => (whole(&text[blank + 1..end]), end + 1),
        Some(end) => (Tag::Nothing, end.min(most)),
        None if text.len() > LONGEST => (Tag::Nothing, most),
        None if begins || blank == text.len() => (Tag::Unfinished, 0),
        None => (Tag::Nothing, blank),
    }
}

/// The tag with this text between its brackets.
fn whole(inside: &str) -> Tag {
    let inside = inside.trim();
    if let Some(name) = inside.strip_prefix('/') {
        return if name.is_empty() { Tag::Nothing } else { Tag::Close(name.to_owned()) };
    }
    match called(inside) {
        Some(name) => Tag::Call(name.to_owned()),
        None if inside.is_empty() => Tag::Nothing,
        None => Tag::Open(inside.to_owned()),
    }
}

/// The name in a call's tag, as far as it has been read.
fn called(inside: &str) -> Option<&str> {
    let attribute = inside.strip_prefix(CALL)?.strip_prefix(' ')?;
    Some(attribute.trim_start().strip_prefix("name=")?.trim_matches(['"', '\'']))
}

/// Whether this text behind the marker, an unfinished tag, may become one that means something
/// outside of calls.
pub(crate) fn may_matter(text: &str, tools: &Tools) -> bool {
    let Some(inside) = text.trim_start().strip_prefix('<') else { return true };
    match called(inside) {
        Some(name) => tools.may_begin(name),
        None => {
            ["tool_call", "/tool_call", "/invoke", "invoke name="].iter().any(|tag| tag.starts_with(inside))
        }
    }
}
