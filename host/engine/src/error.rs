//! Why a request isn't taken on, and why a generation that was taken on ends early.

use std::time::Duration;

use crate::runner::{RunError, SampleError};

/// A request that isn't taken on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// Nothing in it, or so much that the context (or the whole cache) has no room for a token of the answer.
    #[error("the prompt has {tokens} tokens, the context is {context} with the answer")]
    PromptLength {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens of prompt and answer together that fit.
        context: usize,
    },
    /// An id that the model doesn't have.
    #[error("token id {0} is not in the vocabulary")]
    UnknownToken(u32),
    /// Too many wait already.
    #[error("the engine's queue is full ({0} requests wait)")]
    Busy(usize),
    /// The engine has more to do than it takes on.
    #[error("the engine has too much to do")]
    Overloaded {
        /// When it may be worth asking again, where the engine says so.
        retry_after: Option<Duration>,
    },
    /// The engine failed before it began; the message is for the log.
    #[error("the engine failed: {0}")]
    Failed(String),
    /// The engine can't be reached, or takes nothing now.
    #[error("the engine takes no requests now")]
    Unavailable {
        /// When it may be worth asking again, where the engine says so.
        retry_after: Option<Duration>,
    },
    /// The engine can't do what the request asks for, and won't leave it out.
    #[error("{field}: {reason}")]
    Unsupported {
        /// What is asked for, as requests call it ([`SubmitError::CONSTRAINT`] for a constraint).
        field: &'static str,
        /// Why not, with the engine's name.
        reason: String,
    },
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

impl SubmitError {
    /// `field` of [`Self::Unsupported`] for a request's constraint, which every protocol calls otherwise.
    pub const CONSTRAINT: &str = "constraint";

    /// The refusal of every constraint: `engine` is what the engine is called.
    pub fn no_constraints(engine: &str) -> Self {
        let reason = format!("the engine ({engine}) knows no constrained decoding");
        Self::Unsupported { field: Self::CONSTRAINT, reason }
    }
}

/// A generation that ended before its time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GenerationError {
    /// The step that it was in failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// No token could be chosen for it.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// Its mask failed.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// The engine was stopped meanwhile.
    #[error("the engine was stopped")]
    Stopped,
    /// The engine's thread panicked.
    #[error("the engine stopped, a step panicked: {0}")]
    Panicked(String),
    /// An engine elsewhere failed, or the connection to it.
    #[error("{0}")]
    Upstream(String),
    /// A played output ends with an error.
    #[error("the replay file ends this output with an error")]
    Played,
    /// A played output ends with a stop token that the model doesn't have.
    #[error("the replayed output ends with a stop, but the model has no stop token")]
    NoStopToken,
}

/// A mask that can't say which token may come.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// A token was chosen that it doesn't go on with.
    #[error("the mask refused token {0}")]
    Refused(u32),
    /// What it follows has grown too large for it here; says which bound it reached.
    #[error("the mask outgrew its limits: {0}")]
    TooComplex(String),
    /// It has taken more time than an answer of so many tokens may.
    #[error("the masks of {tokens} tokens took {taken:.1?}")]
    TooSlow {
        /// Tokens so far.
        tokens: usize,
        /// CPU time of their masks.
        taken: Duration,
    },
    /// It is in no state to go on.
    #[error("the mask failed: {0}")]
    Failed(String),
    /// It panicked.
    #[error("the mask panicked: {0}")]
    Panicked(String),
}
