//! Log-probabilities of a prompt's tokens, gathered while the prompt is computed, chunk by chunk.
//!
//! Invariants: of each position only the log-probabilities of the prompt's own token and of the
//! likeliest are kept, never a row of logits; tokens come in order, each once; they outlive a
//! preemption. The sequence takes tokens of the prefix cache only where they are known.

use std::ops::Range;

use crate::token::Token;

/// Tokens of one prompt behind its first, with log-probabilities as far as they are known.
#[derive(Debug)]
pub(crate) struct PromptScores {
    /// Number of likeliest alternatives to report.
    pub(crate) top: u8,
    /// Number of tokens to score.
    count: usize,
    known: Vec<Token>,
}

impl PromptScores {
    /// Scores for a prompt of `prompt` tokens.
    pub(crate) fn new(top: u8, prompt: usize) -> Self {
        Self { top, count: prompt.saturating_sub(1), known: Vec::new() }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.known.len() == self.count
    }

    /// Number of the prompt's first tokens whose logits aren't needed.
    pub(crate) fn known(&self) -> usize {
        self.known.len()
    }

    /// Tokens among those at `positions` whose logits score the token behind them.
    pub(crate) fn rows(&self, positions: Range<usize>) -> Range<usize> {
        let from = positions.start.max(self.known.len());
        from..positions.end.min(self.count).max(from)
    }

    /// Number of further tokens that a step can compute with at most `rows` more rows of logits,
    /// where the step has the tokens at `planned` already. The last token of the prompt, whose
    /// logits give the answer's first, is left to a step of its own: a lane samples one token in a
    /// step.
    pub(crate) fn fitting(&self, planned: Range<usize>, rows: usize) -> usize {
        if planned.start >= self.count {
            return usize::MAX;
        }
        (planned.end.max(self.known.len()) + rows).min(self.count) - planned.end
    }

    /// Takes the tokens of a step, the first of which is behind position `from`. A sequence that
    /// was preempted computes positions again whose tokens were under way.
    pub(crate) fn take(&mut self, from: usize, tokens: impl Iterator<Item = Token>) {
        self.known.extend(tokens.skip(self.known.len().saturating_sub(from)));
    }

    pub(crate) fn into_tokens(self) -> Vec<Token> {
        self.known
    }
}
