//! Why a job can't be started. The transport tells clients in the words of `api::error`.

use engine::SubmitError;

use crate::prompt::{RenderError, TokenizeError};
use crate::replay::NoRule;

/// A job that didn't become a turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// No prompt can be made of it.
    #[error(transparent)]
    Prompt(#[from] RenderError),
    /// The engine doesn't take it.
    #[error(transparent)]
    Engine(#[from] SubmitError),
    /// The replay file has no answer to it.
    #[error(transparent)]
    Replay(#[from] NoRule),
    /// A token id that the model doesn't have.
    #[error("token id {0} is not in this model's vocabulary")]
    UnknownToken(u32),
    /// A fault of ours, already logged.
    #[error("preparing the prompt failed")]
    Internal,
}

impl StartError {
    /// Text of the request can't be encoded.
    pub(super) fn tokenize(error: TokenizeError) -> Self {
        Self::Prompt(RenderError::Tokenize(error))
    }
}
