//! The header of a call between a marker and its arguments, however much of it the model left out. [`super::Sections`] feeds it.
//!
//! Invariant: what it amounts to doesn't depend on how it was cut, nor on anything beyond its bound.

use crate::is_plausible;

/// Bytes that a header may have; a name is shorter.
const HEADER: usize = 256;
const FENCE: &str = "```";
/// What may end a name that no marker ends: its line, or the first byte of its arguments.
const ENDS: [char; 3] = ['\n', '{', '`'];

/// A call's header as far as it has come; all its bytes are held.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Bytes of the marker before it.
    pub(super) opening: usize,
    pub(super) text: String,
    /// Where the separator stands in it.
    pub(super) separator: Option<usize>,
    /// A marker came behind which none of it can follow.
    pub(super) ended: bool,
}

/// What a header amounts to.
#[derive(Debug)]
pub(super) enum Head<'a> {
    Unfinished,
    /// It says this, and the arguments begin so far into its text.
    Says(&'a str, usize),
    Nothing,
}

impl Header {
    /// Takes more of it; whether [`Self::head`] may say something else than before.
    pub(super) fn push(&mut self, chunk: &str) -> bool {
        self.text.push_str(chunk);
        self.text.len() > HEADER || self.text.bytes().any(|byte| ENDS.contains(&char::from(byte)))
    }

    /// What it amounts to; `kind` is what may stand before the separator instead of the name.
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
            return self.unless_prose(says(behind, known.len()));
        }
        match arguments(behind) {
            Head::Unfinished if self.text.len() > HEADER => Head::Nothing,
            Head::Says("", at) => says(before, before.len() + at),
            Head::Says(name, at) => self.unless_prose(says(name, before.len() + at)),
            other => other,
        }
    }

    /// Whether nothing stands in it.
    pub(super) fn is_empty(&self) -> bool {
        self.separator.is_none() && self.text.trim().is_empty()
    }

    /// Whether it is how a call begins, if nothing follows: as far as it goes it says a plausible name, and isn't a marker that prose mentions.
    pub(super) fn is_opening(&self) -> bool {
        let name = self.text.trim_start().split(ENDS).next().unwrap_or_default();
        self.separator.is_some() || self.is_empty() || is_plausible(name.trim_end())
    }

    /// A name without a separator is one word, or else the marker was only mentioned.
    fn unless_prose<'a>(&self, head: Head<'a>) -> Head<'a> {
        match head {
            Head::Says(name, _) if self.separator.is_none() && name.contains(char::is_whitespace) => {
                Head::Nothing
            }
            head => head,
        }
    }
}

/// A header that says this, white space aside.
fn says(name: &str, at: usize) -> Head<'_> {
    match name.trim() {
        "" => Head::Nothing,
        name => Head::Says(name, at),
    }
}

/// A name that its line or its arguments, an object or a fence, end.
fn arguments(text: &str) -> Head<'_> {
    let name = text.trim_start();
    let Some(end) = name.find(ENDS) else { return Head::Unfinished };
    let rest = name[end..].trim_start();
    if rest.starts_with('{') || rest.starts_with(FENCE) {
        Head::Says(name[..end].trim_end(), text.len() - rest.len())
    } else if FENCE.starts_with(rest) {
        Head::Unfinished
    } else {
        Head::Nothing
    }
}
