//! The tag that opens a call and names its tool, `<function=NAME>` or `<invoke name="NAME">`, from
//! behind its marker up to `>`.
//!
//! Invariant: the result doesn't depend on how the tag was cut into chunks, and no more of the tag
//! is kept than a bounded length.

use super::Style;

/// A tag as far as it has been read; all its bytes are held.
#[derive(Debug, Default)]
pub struct Tag {
    style: Style,
    text: String,
}

/// Result of reading a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tagged {
    /// The tag goes on.
    Unfinished,
    /// The tag is whole after this number of bytes of the text just read.
    Whole(usize),
    /// The text is no tag.
    Nothing,
}

impl Tag {
    /// Longest name of a tool with what stands around it, in bytes.
    pub const LONGEST: usize = 256;

    /// A tag of a format that spells parameters in this style.
    pub fn of(style: Style) -> Self {
        Self { style, text: String::new() }
    }

    /// Begins a new tag.
    pub fn begin(&mut self) {
        self.text.clear();
    }

    /// Begins the tag behind `marker`, which ends with the attribute of the name or another one.
    pub(super) fn begin_behind(&mut self, marker: &str) {
        self.text.clear();
        self.text.push_str(self.style.first_attribute(marker));
    }

    /// Adds `text` to the tag, of which the first 256 bytes are kept.
    pub(super) fn push(&mut self, text: &str) {
        let room = Self::LONGEST.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
    }

    /// The tag as far as it has been read.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The name in the tag, as far as it has been read.
    pub fn name(&self) -> &str {
        self.style.name(&self.text)
    }

    /// [`Style::tag_name`] of the tag as far as it has been read.
    pub(super) fn tag_name(&self, goes_on: bool) -> Option<&str> {
        self.style.tag_name(&self.text, goes_on)
    }

    /// Reads `text`; `fits(name, is_whole)` says whether a whole name is a tool's, or whether a
    /// name that goes on may become one.
    pub fn read(&mut self, text: &str, fits: impl Fn(&str, bool) -> bool) -> Tagged {
        let end = if self.style.ends_by_marker() { None } else { text.find('>') };
        self.text.push_str(&text[..end.unwrap_or(text.len())]);
        match end {
            _ if self.text.len() > Self::LONGEST => Tagged::Nothing,
            _ if !self.tag_name(end.is_none()).is_some_and(|name| fits(name, end.is_some())) => {
                Tagged::Nothing
            }
            Some(end) => Tagged::Whole(end + 1),
            None => Tagged::Unfinished,
        }
    }
}
