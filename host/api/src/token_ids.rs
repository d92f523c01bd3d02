//! Token ids in answers to clients that ask for them (vLLM's `return_token_ids`).
//!
//! Invariant: in a stream each chunk has the ids of the tokens that came since the choice's last
//! chunk, so the chunks of a choice add up to its tokens, and the chunk with the finish reason has
//! the token that ended it. The first chunk with ids has the prompt's.

use schemars::JsonSchema;
use serde::Serialize;

use model::{RawStep, RawTurn};

/// Token ids of a choice or of one chunk, if they are wanted.
#[derive(Debug, Clone, Copy, Default, JsonSchema, Serialize)]
pub(super) struct TokenIds<'a> {
    /// The prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_token_ids: Option<&'a [u32]>,
    /// The output, the token that ended it included; in a stream what is new of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ids: Option<&'a [u32]>,
}

/// Ids of a streamed choice that no chunk has carried yet.
#[derive(Debug, Default)]
pub(super) struct UnsentIds {
    prompt: Option<Vec<u32>>,
    tokens: Vec<u32>,
}

impl<'a> TokenIds<'a> {
    /// Token ids of a whole choice; none if the client didn't ask for them.
    pub(super) fn of(raw: Option<&'a RawTurn>) -> Self {
        Self {
            prompt_token_ids: raw.map(|raw| raw.input.tokens.as_slice()),
            token_ids: raw.map(|raw| raw.output.tokens.as_slice()),
        }
    }
}

impl UnsentIds {
    /// Takes an engine step's tokens, before the events of the step are sent.
    pub(super) fn take(&mut self, step: &RawStep<'_>) {
        if let Some(prompt) = step.prompt {
            self.prompt = Some(prompt.to_vec());
        }
        self.tokens.extend_from_slice(step.tokens);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.prompt.is_none() && self.tokens.is_empty()
    }

    /// Number of tokens up to the last of `chosen`, which are some of the tokens in their order.
    pub(super) fn count_through(&self, chosen: impl Iterator<Item = u32>) -> usize {
        chosen.fold(0, |count, id| {
            self.tokens[count..].iter().position(|token| *token == id).map_or(count, |at| count + at + 1)
        })
    }

    /// Ids for a chunk with the first `count` tokens, which are removed; `send` gets them.
    pub(super) fn send_first(&mut self, count: usize, send: impl FnOnce(TokenIds<'_>)) {
        let prompt = self.prompt.take();
        send(TokenIds { prompt_token_ids: prompt.as_deref(), token_ids: Some(&self.tokens[..count]) });
        self.tokens.drain(..count);
    }

    /// Ids for a chunk with all tokens, which are removed; `send` gets them.
    pub(super) fn send_all(&mut self, send: impl FnOnce(TokenIds<'_>)) {
        self.send_first(self.tokens.len(), send);
    }
}
