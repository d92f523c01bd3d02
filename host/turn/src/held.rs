//! Buffer of a stream's bytes that aren't routed yet, in order. `router` owns one per stream.
//!
//! Invariant: both ends lie between characters. Taking from the front copies nothing; appending
//! costs amortised constant time per byte.

use super::step_error::StepError;

/// Bytes held for one stream, and how many of them the parser has been shown.
#[derive(Debug, Default)]
pub(super) struct Held {
    text: String,
    /// Offset in `text` of the first held byte; those before it were taken.
    start: usize,
    /// Offset in `text` up to which the parser has seen the bytes.
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

    /// Whether the parser has seen all held bytes.
    pub(super) fn is_shown(&self) -> bool {
        self.shown == self.text.len()
    }

    /// The newest held bytes, which the parser hasn't seen.
    pub(super) fn unseen(&self) -> &str {
        &self.text[self.shown..]
    }

    /// Marks all held bytes as seen by the parser.
    pub(super) fn show(&mut self) {
        self.shown = self.text.len();
    }

    /// Marks the oldest `bytes` as seen: the parser needn't be shown them.
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

    /// Removes and returns the oldest `bytes`.
    pub(super) fn take(&mut self, bytes: usize) -> Result<&str, StepError> {
        if bytes > self.len() {
            return Err(StepError::MoreThanHeld { bytes, held: self.len() });
        }
        let end = self.start + bytes;
        if !self.text.is_char_boundary(end) {
            return Err(StepError::InsideCharacter);
        }
        let taken = self.start..end;
        self.start = end;
        Ok(&self.text[taken])
    }
}
