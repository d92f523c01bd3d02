//! Deltas: pieces of an item's text, with the tokens that begin in them if log-probabilities are
//! asked for.
//!
//! Invariant: tokens are in order, and each begins at a byte of the text. `items` writes deltas,
//! `stop` cuts them.

use std::ops::Deref;
use std::sync::Arc;

/// A piece of an item's text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delta {
    /// The text.
    pub text: String,
    /// Tokens whose first byte is in `text`, with their log-probabilities; empty unless they were
    /// asked for.
    pub tokens: Vec<DeltaToken>,
}

/// A token of a message's text.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaToken {
    /// Offset in the text at which the token begins, in bytes.
    pub offset: usize,
    /// Log-probabilities of the token and of its alternatives.
    pub logprobs: Arc<TokenLogprobs>,
}

/// A generated token and the likeliest tokens at its position, with their log-probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
    /// The token that was generated.
    pub chosen: TokenLogprob,
    /// The likeliest tokens at this position, likeliest first.
    pub top: Vec<TokenLogprob>,
}

/// A token and its log-probability.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprob {
    /// Token id.
    pub id: u32,
    /// Bytes of the token, which may be a part of a character.
    pub bytes: Vec<u8>,
    /// Natural logarithm of the token's probability, before temperature.
    pub logprob: f32,
}

impl Delta {
    /// Clears text and tokens; the memory is kept.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        if !self.tokens.is_empty() {
            self.tokens.clear();
        }
    }

    /// Appends `other`.
    pub(super) fn append(&mut self, mut other: Self) {
        self.append_tokens(&mut other.tokens);
        self.text.push_str(&other.text);
    }

    /// Moves `tokens` here, whose text is about to be appended.
    pub(super) fn append_tokens(&mut self, tokens: &mut Vec<DeltaToken>) {
        let shift = self.text.len();
        self.tokens
            .extend(tokens.drain(..).map(|token| DeltaToken { offset: token.offset + shift, ..token }));
    }

    /// Removes and returns everything from byte `offset` on.
    pub(super) fn split_off(&mut self, offset: usize) -> Self {
        Self { tokens: split_tokens(&mut self.tokens, offset), text: self.text.split_off(offset) }
    }
}

/// Removes and returns the tokens that begin at byte `offset` or later; their offsets then count
/// from there.
pub(super) fn split_tokens(tokens: &mut Vec<DeltaToken>, offset: usize) -> Vec<DeltaToken> {
    let mut later = tokens.split_off(tokens.partition_point(|token| token.offset < offset));
    for token in &mut later {
        token.offset -= offset;
    }
    later
}

impl Deref for Delta {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<T: Into<String>> From<T> for Delta {
    fn from(text: T) -> Self {
        Self { text: text.into(), tokens: Vec::new() }
    }
}
