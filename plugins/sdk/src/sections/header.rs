//! The header of a call between a marker and its arguments, however much of it the model left out.
//! [`super::Sections`] feeds it.
//!
//! Invariant: the result depends neither on how the header was cut into chunks nor on any text
//! beyond its greatest length.

use crate::is_plausible;

/// Greatest length of a header, in bytes; a name is shorter.
pub(super) const HEADER: usize = 256;
const FENCE: &str = "```";
/// What may end a name that no marker ends: its line, or the first byte of its arguments.
pub(super) const ENDS: &[u8; 3] = b"\n{`";

/// A call's header as far as it has been read; all its bytes are held.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Length in bytes of the marker before the header, if it is held.
    pub(super) opening: usize,
    pub(super) text: String,
    /// Offset in `text` of the separator.
    pub(super) separator: Option<usize>,
    /// Whether a marker came that ends the header.
    pub(super) ended: bool,
}

/// Result of reading a header.
#[derive(Debug)]
pub(super) enum Head<'a> {
    Unfinished,
    /// The header says this, and the arguments begin at this offset in its text.
    Says(&'a str, usize),
    Nothing,
}

impl Header {
    /// Adds `chunk`. Returns whether [`Self::head`] may have another result than before.
    pub(super) fn push(&mut self, chunk: &str) -> bool {
        self.text.push_str(chunk);
        self.text.len() > HEADER || self.text.contains(is_end)
    }

    /// Reads the header; `kind` is the word that may stand before the separator instead of the
    /// name.
    pub(super) fn head(&self, kind: Option<&str>) -> Head<'_> {
        let known = &self.text[..self.text.floor_char_boundary(HEADER)];
        let (before, behind) = match self.separator {
            None => ("", known),
            Some(at) if kind.is_some_and(|kind| ["", kind].contains(&known[..at].trim())) => {
                known.split_at(at)
            }
            Some(at) => return says(&known[..at], at),
        };
        if self.ended {
            return says(behind, known.len());
        }
        match arguments(behind) {
            Head::Unfinished if self.text.len() > HEADER => Head::Nothing,
            Head::Says("", at) => says(before, before.len() + at),
            Head::Says(name, at) => says(name, before.len() + at),
            other => other,
        }
    }

    /// Whether the header has no separator, and no text but white space.
    pub(super) fn is_empty(&self) -> bool {
        self.separator.is_none() && self.text.trim().is_empty()
    }

    /// Whether the header counts as the opening of a call if nothing follows, and not as prose that
    /// mentions a marker: it has a separator, or no text, or a plausible name.
    pub(super) fn is_opening(&self) -> bool {
        self.separator.is_some() || self.is_empty() || is_plausible(self.word())
    }

    /// The text up to what may end a name.
    pub(super) fn word(&self) -> &str {
        self.text.trim_start().split(is_end).next().unwrap_or_default().trim_end()
    }
}

fn is_end(char: char) -> bool {
    ENDS.iter().any(|end| char == char::from(*end))
}

/// A header that says `name`, without the white space around it.
fn says(name: &str, at: usize) -> Head<'_> {
    match name.trim() {
        "" => Head::Nothing,
        name => Head::Says(name, at),
    }
}

/// Reads a name that ends with its line or where its arguments begin, an object or a fence.
fn arguments(text: &str) -> Head<'_> {
    let name = text.trim_start();
    let Some(end) = name.find(is_end) else { return Head::Unfinished };
    let rest = name[end..].trim_start();
    if rest.starts_with('{') || rest.starts_with(FENCE) {
        Head::Says(name[..end].trim_end(), text.len() - rest.len())
    } else if FENCE.starts_with(rest) {
        Head::Unfinished
    } else {
        Head::Nothing
    }
}
