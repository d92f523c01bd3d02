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
    /// The answer can't be constrained as it asks.
    #[error("{reason}")]
    Constraint {
        /// What of the request is at fault.
        field: ConstraintField,
        /// Why not.
        reason: String,
    },
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

/// What of a request constrains its answer; each protocol has its own names for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintField {
    /// The format of the answer.
    Format,
    /// The schema in it.
    Schema,
    /// A grammar of the answer.
    Grammar,
    /// The choice of tools.
    ToolChoice,
    /// The tools.
    Tools,
}

impl StartError {
    /// The same in the words of a request that demands a constraint by `demand`.
    pub(super) fn of(self, demand: Option<ConstraintField>) -> Self {
        match self {
            Self::Engine(SubmitError::Unsupported { field: SubmitError::CONSTRAINT, reason }) => {
                Self::Constraint { field: demand.unwrap_or(ConstraintField::Tools), reason }
            }
            error => error,
        }
    }

    /// Text of the request can't be encoded.
    pub(super) fn tokenize(error: TokenizeError) -> Self {
        Self::Prompt(RenderError::Tokenize(error))
    }
}
