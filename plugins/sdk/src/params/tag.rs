//! The tag that opens a call and names its tool, `<function=NAME>` or `<invoke name="NAME">`, from behind its marker up to `>`.
//!
//! Invariant: what it amounts to doesn't depend on how it was cut, and no more of it is kept than a bounded length.

use super::unquoted;

/// Such a tag as far as it has come; all its bytes are held.
#[derive(Debug, Default)]
pub struct Tag(String);

/// What a tag amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tagged {
    /// More is to come.
    Unfinished,
    /// It is whole: after so many bytes of the text just read.
    Whole(usize),
    /// It is none.
    Nothing,
}

impl Tag {
    /// Longest name of a tool with what stands around it, in bytes.
    pub const LONGEST: usize = 256;

    /// Begins.
    pub fn begin(&mut self) {
        self.0.clear();
    }

    /// The name in it.
    pub fn name(&self) -> &str {
        unquoted(&self.0)
    }

    /// Reads on; `fits` says whether a name is one, or may become one as long as it isn't whole.
    pub fn read(&mut self, text: &str, fits: impl Fn(&str, bool) -> bool) -> Tagged {
        let end = text.find('>');
        self.0.push_str(&text[..end.unwrap_or(text.len())]);
        match end {
            _ if self.0.len() > Self::LONGEST || !fits(self.name(), end.is_some()) => Tagged::Nothing,
            Some(end) => Tagged::Whole(end + 1),
            None => Tagged::Unfinished,
        }
    }
}
