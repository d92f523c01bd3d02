//! Budget of a prompt's tokenisation. A prompt is refused for its tokens, never for its bytes alone;
//! what the bytes decide is how exactly a refusal knows the tokens.
//!
//! Invariant: a prompt whose tokens fit into the context is never refused here, and the error's
//! number of tokens is one that the prompt has at least. Called by `encode_prompt`.

/// How far a prompt is tokenised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBudget {
    /// Most tokens of prompt and answer together.
    pub context: usize,
    /// Size up to which a text is tokenised to its end, in bytes. A longer one is tokenised until it
    /// has more tokens than the context.
    pub counted_bytes: usize,
}

/// Error of a prompt that has more tokens than the context, and was not tokenised to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the prompt has at least {tokens} tokens, more than the {context} of this model's context")]
pub struct PromptTooLong {
    /// Tokens that the prompt has at least.
    pub tokens: usize,
    /// Most tokens of prompt and answer together.
    pub context: usize,
    /// Size of the prompt, or of its conversation, in bytes.
    pub bytes: usize,
    /// Bytes of it that already have more tokens than the context.
    pub read: usize,
}

/// Token ids of a prompt so far, within its budget.
#[derive(Debug)]
pub(super) struct IdsWithin {
    ids: Vec<u32>,
    budget: TokenBudget,
    bytes: usize,
}

impl IdsWithin {
    /// No ids yet of a prompt of `bytes` bytes.
    pub(super) fn new(budget: TokenBudget, bytes: usize) -> Self {
        Self { ids: Vec::new(), budget, bytes }
    }

    /// Appends the ids of the text up to byte `read`.
    ///
    /// # Errors
    /// The prompt has more tokens than the context, and more bytes than are counted.
    pub(super) fn extend(
        &mut self,
        ids: impl IntoIterator<Item = u32>,
        read: usize,
    ) -> Result<(), PromptTooLong> {
        self.ids.extend(ids);
        let (tokens, bytes, context) = (self.ids.len(), self.bytes, self.budget.context);
        if bytes > self.budget.counted_bytes && tokens > context {
            return Err(PromptTooLong { tokens, context, bytes, read });
        }
        Ok(())
    }

    /// The ids of the whole prompt.
    pub(super) fn finish(self) -> Vec<u32> {
        self.ids
    }
}
