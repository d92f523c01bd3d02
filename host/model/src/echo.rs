//! A prompt as it is shown before its answer (`echo` of Completions): its text and, if they are
//! asked for, its tokens with log-probabilities.

use engine::Token;

use turn::TokenLogprobs;

/// A prompt to show.
#[derive(Debug, Clone, PartialEq)]
pub struct Echo {
    /// Text of the prompt.
    pub text: String,
    /// Tokens of the prompt; empty unless log-probabilities are asked for.
    pub tokens: Vec<EchoedToken>,
}

/// A token of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct EchoedToken {
    /// Offset in the text at which the token begins, in bytes.
    pub offset: usize,
    /// Token id.
    pub id: u32,
    /// The token's bytes.
    pub bytes: Vec<u8>,
    /// Log-probabilities of the token and its alternatives; `None` for the first token, which
    /// nothing precedes.
    pub logprobs: Option<TokenLogprobs>,
}

/// A prompt until its log-probabilities are known.
#[derive(Debug)]
pub(super) struct PendingEcho {
    /// Text that is shown.
    pub(super) text: String,
    /// Tokens of the prompt, if they are listed with their log-probabilities.
    pub(super) ids: Vec<u32>,
}

impl PendingEcho {
    /// Pairs the listed tokens with what the engine has told of those behind the first.
    pub(super) fn scored(&self, told: Vec<Token>) -> impl Iterator<Item = (u32, Option<Token>)> + '_ {
        self.ids.iter().copied().zip(std::iter::once(None).chain(told.into_iter().map(Some)))
    }
}
