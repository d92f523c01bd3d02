//! The bytes of a stream that are not routed yet, in order. `router` owns one per stream.
//!
//! Invariant: both ends lie between characters. Taking from the front copies nothing, and adding costs, over the
//! stream, a constant per byte.

use super::illegal::Illegal;

/// Bytes held for one stream, and which of them the parser has been shown.
#[derive(Debug, Default)]
pub(super) struct Held {
    text: String,
    /// Bytes of `text` that are gone.
    start: usize,
    /// Bytes of `text` that the parser has seen.
    shown: usize,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.text.len() - self.start
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text[self.start..]
    }

    /// Whether the parser has seen all of it.
    pub(super) fn is_shown(&self) -> bool {
        self.shown == self.text.len()
    }

    /// The youngest bytes, which the parser hasn't seen.
    pub(super) fn unseen(&self) -> &str {
        &self.text[self.shown..]
    }

    /// The parser has seen all of it.
    pub(super) fn show(&mut self) {
        self.shown = self.text.len();
    }

    /// The parser need not see the oldest `bytes`.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.shown = self.shown.max(self.start + bytes);
    }

    pub(super) fn push(&mut self, text: &str) {
        if self.is_empty() {
            self.text.clear();
            (self.start, self.shown) = (0, 0);
        } else if self.start > self.len() {
            self.text.drain(..self.start);
            self.shown = self.shown.saturating_sub(self.start);
            self.start = 0;
        }
        self.text.push_str(text);
    }

    /// Removes the oldest `bytes`.
    pub(super) fn take(&mut self, bytes: usize) -> Result<&str, Illegal> {
        if bytes > self.len() {
            return Err(Illegal::MoreThanHeld { bytes, held: self.len() });
        }
        let end = self.start + bytes;
        if !self.text.is_char_boundary(end) {
            return Err(Illegal::InsideCharacter);
        }
        let taken = self.start..end;
        self.start = end;
        Ok(&self.text[taken])
    }
}
