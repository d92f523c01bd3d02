//! Errors of engines: refusals of requests, failures of generations and of masks.

use std::time::Duration;

use crate::runner::{RunError, SampleError};

/// Reason why an engine refuses a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The prompt is empty, or so long that the context (or the whole KV cache) has no room for one
    /// token of the answer.
    #[error("the prompt has {tokens} tokens, the context is {context} with the answer")]
    PromptLength {
        /// Tokens of the prompt.
        tokens: usize,
        /// Maximum number of tokens in prompt and answer together.
        context: usize,
    },
    /// A token id that the model doesn't have.
    #[error("token id {0} is not in the vocabulary")]
    UnknownToken(u32),
    /// The engine's queue is full, with this number of waiting requests.
    #[error("the engine's queue is full ({0} requests wait)")]
    Busy(usize),
    /// The engine is overloaded: the request waited too long in the queue, or an upstream engine
    /// says so.
    #[error("the engine has too much to do")]
    Overloaded {
        /// Time after which a retry may succeed, where the engine names one.
        retry_after: Option<Duration>,
        /// Why a gateway before the engines dropped the request, if it says so.
        dropped: Option<&'static str>,
    },
    /// The engine failed before the answer began; the message is for the log.
    #[error("the engine failed: {0}")]
    Failed(String),
    /// The engine can't be reached, or takes no requests now.
    #[error("the engine takes no requests now")]
    Unavailable {
        /// Time after which a retry may succeed, where the engine names one.
        retry_after: Option<Duration>,
        /// Why a gateway before the engines dropped the request, if it says so.
        dropped: Option<&'static str>,
    },
    /// The engine doesn't support a field of the request that it must not ignore.
    #[error("{field}: {reason}")]
    Unsupported {
        /// Name of the field in requests ([`SubmitError::CONSTRAINT`] for a constraint).
        field: &'static str,
        /// Reason for the refusal, with the engine's name.
        reason: String,
    },
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

impl SubmitError {
    /// `field` of [`Self::Unsupported`] for a request's constraint, for which each protocol has
    /// another name.
    pub const CONSTRAINT: &str = "constraint";

    /// Refusal by an engine that takes no requests, without a word on when it will.
    pub const UNAVAILABLE: Self = Self::Unavailable { retry_after: None, dropped: None };

    /// Refusal by an engine that can't score prompts. `engine` is the engine's name.
    pub fn no_scores(engine: &str) -> Self {
        let reason = format!(
            "the engine ({engine}) tells no log-probabilities of prompts: leave out echo or logprobs, or ask a model on this machine, or behind vLLM or another host"
        );
        Self::Unsupported { field: "echo", reason }
    }

    /// Refusal by an engine that supports no constraints. `engine` is the engine's name.
    pub fn no_constraints(engine: &str) -> Self {
        let reason = format!("the engine ({engine}) knows no constrained decoding");
        Self::Unsupported { field: Self::CONSTRAINT, reason }
    }
}

/// Error that ended a generation early.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GenerationError {
    /// A step that computed the sequence failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// No token could be sampled for the sequence.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The sequence's mask failed.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// The engine was stopped during the generation.
    #[error("the engine was stopped")]
    Stopped,
    /// The engine's thread panicked.
    #[error("the engine stopped, a step panicked: {0}")]
    Panicked(String),
    /// An upstream engine failed, or the connection to it.
    #[error("{0}")]
    Upstream(String),
    /// A played output ends with an error.
    #[error("the replay file ends this output with an error")]
    Played,
    /// A played output ends with a stop token that the model doesn't have.
    #[error("the replayed output ends with a stop, but the model has no stop token")]
    NoStopToken,
    /// A played output has a token that the request's mask doesn't allow, or ends where the mask
    /// allows no end.
    #[error("the replayed output breaks the request's constraint at token {}", .0.before.len())]
    Mismatch(Box<PlayedMismatch>),
}

/// Place where a played output leaves what the request's mask allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedMismatch {
    /// The output up to that place.
    pub before: Vec<u32>,
    /// The token that isn't allowed there; `None`: the output ends.
    pub token: Option<u32>,
    /// Whether nothing but the end is allowed there.
    pub is_complete: bool,
}

impl GenerationError {
    /// Description for logs. Texts that may quote a request or an answer, as a grammar's error or a
    /// panic's message does, are left out.
    pub fn kind(&self) -> String {
        let (what, text) = match self {
            Self::Mask(MaskError::TooComplex(text)) => ("the mask outgrew its limits", text),
            Self::Mask(MaskError::Failed(text)) => ("the mask failed", text),
            Self::Mask(MaskError::Panicked(text)) => ("the mask panicked", text),
            Self::Panicked(text) => ("the engine stopped, a step panicked", text),
            Self::Upstream(text) => ("a remote engine failed", text),
            other => return other.to_string(),
        };
        format!("{what} ({} bytes of explanation)", text.len())
    }
}

/// Failure of a mask to say which tokens may come next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// The mask doesn't allow this token, which was chosen.
    #[error("the mask refused token {0}")]
    Refused(u32),
    /// The grammar's state has grown beyond a limit; the text says which limit.
    #[error("the mask outgrew its limits: {0}")]
    TooComplex(String),
    /// No token may come next, and the sequence may not end: nothing satisfies the grammar.
    #[error("the mask allows no token")]
    Unsatisfiable,
    /// The masks of all answers hold too much memory, and this one gives way.
    #[error("the masks of all answers hold too much memory")]
    NoMemory,
    /// The mask has taken more CPU time than an answer of `tokens` tokens may.
    #[error("the masks of {tokens} tokens took {taken:.1?}")]
    TooSlow {
        /// Number of tokens generated so far.
        tokens: usize,
        /// CPU time of the answer's masks so far.
        taken: Duration,
    },
    /// The mask can't go on; the text says why.
    #[error("the mask failed: {0}")]
    Failed(String),
    /// The mask panicked with this message.
    #[error("the mask panicked: {0}")]
    Panicked(String),
}
