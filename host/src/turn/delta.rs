//! A piece of an item's text, and the tokens that begin in it where log-probabilities are asked for.
//!
//! Invariant: tokens are in order, and each stands at a byte of the text. `items` writes deltas, `stop` cuts them.

use std::ops::Deref;
use std::sync::Arc;

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delta {
    /// The text.
    pub text: String,
    /// Tokens whose first byte stands in it, with their log-probabilities; none unless they were asked for.
    pub tokens: Vec<DeltaToken>,
}

/// A token of a message's text.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaToken {
    /// Where in the text it begins, in bytes.
    pub at: usize,
    /// What it is, and how likely it was.
    pub logprobs: Arc<TokenLogprobs>,
}

/// A token that was generated, and what else might have been.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
    /// The token itself.
    pub chosen: TokenLogprob,
    /// The likeliest tokens at its place, likeliest first.
    pub top: Vec<TokenLogprob>,
}

/// A token and its log-probability.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprob {
    /// Its id.
    pub id: u32,
    /// Its bytes: a part of a character, perhaps.
    pub bytes: Vec<u8>,
    /// Natural logarithm of its probability, before temperature.
    pub logprob: f32,
}

impl Delta {
    /// Empties it; its memory stays.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        if !self.tokens.is_empty() {
            self.tokens.clear();
        }
    }

    /// Appends `other`.
    pub(super) fn append(&mut self, mut other: Self) {
        self.move_in(&mut other.tokens);
        self.text.push_str(&other.text);
    }

    /// Moves in the `tokens` of text that is about to be appended.
    pub(super) fn move_in(&mut self, tokens: &mut Vec<DeltaToken>) {
        let shift = self.text.len();
        self.tokens.extend(tokens.drain(..).map(|token| DeltaToken { at: token.at + shift, ..token }));
    }

    /// Takes off everything from byte `at` on.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        Self { tokens: split_tokens(&mut self.tokens, at), text: self.text.split_off(at) }
    }
}

/// Takes off the tokens from byte `at` on; their places count from there.
pub(super) fn split_tokens(tokens: &mut Vec<DeltaToken>, at: usize) -> Vec<DeltaToken> {
    let mut later = tokens.split_off(tokens.partition_point(|token| token.at < at));
    for token in &mut later {
        token.at -= at;
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
