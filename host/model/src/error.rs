//! Errors of starting a job. The transport converts them to the errors of `api::error`.

use engine::SubmitError;

use crate::replay::NoRule;
use prompt::{RenderError, TokenizeError};

/// Error of a job that can't be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// No prompt can be made of the job.
    #[error(transparent)]
    Prompt(#[from] RenderError),
    /// The answer can't be constrained as the job demands.
    #[error("{reason}")]
    Constraint {
        /// Field of the request that is at fault.
        field: ConstraintField,
        /// Why the constraint isn't possible.
        reason: String,
    },
    /// The engine refuses the request.
    #[error(transparent)]
    Engine(#[from] SubmitError),
    /// The replay file has no answer to the job's conversation.
    #[error(transparent)]
    Replay(#[from] NoRule),
    /// A token id outside the model's vocabulary.
    #[error("token id {0} is not in this model's vocabulary")]
    UnknownToken(u32),
    /// The grammars of other answers leave no memory for this one's.
    #[error("the grammars in use leave no memory for another one")]
    NoGrammarMemory,
    /// The client has left, so the job wasn't started.
    #[error("the client has left")]
    Left,
    /// A fault of this server, which is logged already.
    #[error("preparing the prompt failed")]
    Internal,
}

/// Field of a request that constrains the answer. Each protocol has its own names for these fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintField {
    /// The format of the answer.
    Format,
    /// The schema in the format of the answer.
    Schema,
    /// A grammar of the answer.
    Grammar,
    /// The choice of tools.
    ToolChoice,
    /// The list of tools.
    Tools,
}

impl StartError {
    /// Converts an engine's refusal of constraints to an error of the field `demand`, or of the
    /// tools if there is none.
    pub(super) fn of(self, demand: Option<ConstraintField>) -> Self {
        match self {
            Self::Engine(SubmitError::Unsupported { field: SubmitError::CONSTRAINT, reason }) => {
                Self::Constraint { field: demand.unwrap_or(ConstraintField::Tools), reason }
            }
            error => error,
        }
    }

    /// Error of text in the request that can't be encoded.
    pub(super) fn tokenize(error: TokenizeError) -> Self {
        Self::Prompt(RenderError::Tokenize(error))
    }
}
