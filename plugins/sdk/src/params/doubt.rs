//! What may be the end of a value, and what came since, while nobody knows whether the format goes on behind it. [`super::Body`] and the parser
//! of tables hold these bytes and ask.
//!
//! Invariant: no more is waited for than a bounded length of white space, so the cost per byte is constant.

use super::coerce::white;

/// Longest white space after an end, and longest key inside a value, that is waited for; bytes.
pub(super) const DOUBT: usize = 128;

/// Held text that isn't decided: markup if the format goes on behind it, else the value's.
#[derive(Debug, Default)]
pub struct Doubt(String);

impl Doubt {
    /// What is in doubt begins with `literal`.
    pub fn of(literal: &str) -> Self {
        Self(literal.to_owned())
    }

    /// Nothing is in doubt any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes more, whatever it is.
    pub fn push(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// Takes text that follows an end; whether that is still one: white space may stand behind it.
    pub fn goes_on(&mut self, text: &str) -> bool {
        self.push(text);
        text.chars().all(white) && !self.is_long()
    }

    /// Whether it is longer than what is waited for.
    pub fn is_long(&self) -> bool {
        self.0.len() > DOUBT
    }

    /// Leaves the first bytes out, which are decided.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.0.drain(..bytes);
    }

    /// All of it.
    pub fn text(&self) -> &str {
        &self.0
    }
}
