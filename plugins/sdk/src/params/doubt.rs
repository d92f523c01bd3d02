//! Held text that may end a value: a marker and what came since, until it is known whether the
//! format goes on behind it. [`super::CallReader`] and the parser of tables hold these bytes and
//! ask.
//!
//! Invariant: the length of the white space and of the key in held text is bounded, so the cost per
//! byte is constant.

use crate::json::white;

/// Longest white space after an end, and longest key inside a value, that is held in doubt; in
/// bytes.
pub(super) const DOUBT: usize = 128;

/// Held text that isn't decided: markup if the format goes on behind it, else part of the value.
#[derive(Debug, Default)]
pub struct Doubt {
    text: String,
    /// Length of the literal with which it began.
    literal: usize,
}

impl Doubt {
    /// Text in doubt that begins with `literal`.
    pub fn of(literal: &str) -> Self {
        let mut doubt = Self::default();
        doubt.begin(literal);
        doubt
    }

    /// Begins again with `literal`: what was in doubt is decided.
    pub fn begin(&mut self, literal: &str) {
        self.text.clear();
        self.text.push_str(literal);
        self.literal = literal.len();
    }

    /// Adds a marker's `literal`, with which doubt begins if nothing is in doubt.
    pub(super) fn mark(&mut self, literal: &str) {
        if self.is_empty() { self.begin(literal) } else { self.push(literal) }
    }

    /// Whether nothing is in doubt.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Empties the text in doubt, once it is decided.
    pub fn clear(&mut self) {
        self.begin("");
    }

    /// Adds `text`, whatever it is.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds `text` behind a marker that may be an end. Returns whether the marker may still be one:
    /// only white space may follow an end.
    pub fn goes_on(&mut self, text: &str) -> bool {
        self.push(text);
        text.chars().all(white) && !self.is_long()
    }

    /// Whether the text is longer than may be held in doubt.
    pub fn is_long(&self) -> bool {
        self.text.len() > DOUBT
    }

    /// The text behind the literal that doubt [began with](Self::of).
    pub fn behind(&self) -> &str {
        &self.text[self.literal..]
    }

    /// Removes the first `bytes`, which are decided.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.text.drain(..bytes);
    }

    /// All of the text in doubt.
    pub fn text(&self) -> &str {
        &self.text
    }
}
