//! Raw tokens of a turn, with all markup, for clients that ask for them.

use std::sync::Arc;

use engine::Token;

use prompt::{Detokenizer, Tokenizer};

/// Raw tokens that the model read and wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTurn {
    /// Tokens of the prompt.
    pub input: RawText,
    /// Tokens of the output, including the token that ended the turn.
    pub output: RawText,
}

/// Tokens and their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawText {
    /// Token ids.
    pub tokens: Vec<u32>,
    /// Text of the tokens, with special tokens as their literals; bytes that are no UTF-8 are
    /// replaced.
    pub text: String,
}

/// Raw tokens of one engine step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawStep<'a> {
    /// Tokens of the prompt, with the first step.
    pub prompt: Option<&'a [u32]>,
    /// Tokens of the output, including the token that ended the turn.
    pub tokens: &'a [u32],
}

/// Collector of the tokens of one turn.
pub(super) struct RawTokens {
    tokenizer: Arc<Tokenizer>,
    input: Vec<u32>,
    output: Vec<u32>,
    /// Number of output tokens that were in a step; `None` before the first step.
    told: Option<usize>,
}

impl RawTokens {
    pub(super) fn new(tokenizer: Arc<Tokenizer>, prompt: &[u32]) -> Self {
        Self { tokenizer, input: prompt.to_vec(), output: Vec::new(), told: None }
    }

    /// Appends the output tokens of one engine step.
    pub(super) fn step(&mut self, tokens: &[Token]) {
        self.output.extend(tokens.iter().map(|token| token.id));
    }

    /// Appends the token that ended the turn.
    pub(super) fn ending(&mut self, id: u32) {
        self.output.push(id);
    }

    /// The tokens since the last call.
    pub(super) fn next_step(&mut self) -> RawStep<'_> {
        let told = self.told.replace(self.output.len());
        let prompt = told.is_none().then_some(&*self.input);
        RawStep { prompt, tokens: &self.output[told.unwrap_or(0)..] }
    }

    /// Decodes all tokens.
    pub(super) fn finish(self) -> RawTurn {
        let Self { tokenizer, input, output, .. } = self;
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
