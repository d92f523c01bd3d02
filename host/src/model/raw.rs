//! A turn's tokens as they are, markup and all, for clients that ask to see them.

use std::sync::Arc;

use engine::Token;

use crate::prompt::{Detokenizer, Tokenizer};

/// What the model read, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTurn {
    /// The prompt.
    pub input: RawText,
    /// The output, the token that ended the turn included.
    pub output: RawText,
}

/// Tokens and their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawText {
    /// Ids.
    pub tokens: Vec<u32>,
    /// Their text, special tokens as they are spelt; bytes that are no UTF-8 are replaced.
    pub text: String,
}

/// Gathers the tokens of one turn.
pub(super) struct RawTokens {
    tokenizer: Arc<Tokenizer>,
    input: Vec<u32>,
    output: Vec<u32>,
}

impl RawTokens {
    pub(super) fn new(tokenizer: Arc<Tokenizer>, prompt: &[u32]) -> Self {
        Self { tokenizer, input: prompt.to_vec(), output: Vec::new() }
    }

    /// More output, of one engine step.
    pub(super) fn step(&mut self, tokens: &[Token]) {
        self.output.extend(tokens.iter().map(|token| token.id));
    }

    /// The token that ended the turn.
    pub(super) fn ending(&mut self, id: u32) {
        self.output.push(id);
    }

    /// All of it, spelt out.
    pub(super) fn finish(self) -> RawTurn {
        let Self { tokenizer, input, output } = self;
        RawTurn { input: spelt(&tokenizer, input), output: spelt(&tokenizer, output) }
    }
}

fn spelt(tokenizer: &Arc<Tokenizer>, tokens: Vec<u32>) -> RawText {
    let mut text = String::new();
    let mut detokenizer = Detokenizer::new(Arc::clone(tokenizer), &[]);
    for id in &tokens {
        detokenizer.push(*id, &mut text);
    }
    detokenizer.flush(&mut text);
    RawText { tokens, text }
}
