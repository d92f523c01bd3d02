//! The engine's contract: a request of token ids goes in, a stream of steps comes out, dropping it cancels.

use std::sync::Arc;

use tokio::sync::mpsc;

/// An engine for one model. Methods never block; work happens on the engine's own threads.
pub trait Engine: Send + Sync {
    /// What callers must know of it.
    fn info(&self) -> &EngineInfo;
    /// Queues a request.
    fn submit(&self, request: GenerationRequest) -> Result<Generation, SubmitError>;
}

/// Facts about an engine.
#[derive(Debug, Clone)]
pub struct EngineInfo {
    /// What it is, for people: `cpu, 2 threads, f32`.
    pub name: String,
    /// Tokens of prompt and answer together that a sequence may have.
    pub context: usize,
    /// Ids are below this.
    pub vocab: usize,
}

/// One sequence to generate.
#[derive(Debug)]
pub struct GenerationRequest {
    /// Prompt, never empty, ids below `vocab`.
    pub prompt: Vec<u32>,
    /// Bound on generated tokens, at least 1.
    pub max_tokens: usize,
    /// How to choose tokens.
    pub sampling: SamplingParams,
    /// Ids that end the sequence; the one met is reported, not part of `tokens`.
    pub stop_ids: Arc<[u32]>,
    /// Likeliest alternatives to report with each token; none: no logprobs at all.
    pub top_logprobs: Option<u8>,
    /// Restricts each next token.
    pub mask: Option<Box<dyn TokenMask>>,
    /// Steps that may wait unread; when they do, this sequence pauses and no other.
    pub queue: usize,
}

/// How the next token is chosen. Randomness depends on (`seed`, position) only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingParams {
    /// 0 is greedy.
    pub temperature: f32,
    /// Smallest set of likeliest tokens whose mass reaches this; in (0, 1].
    pub top_p: f32,
    /// The k likeliest only; 0 is all.
    pub top_k: u32,
    /// Seed of this sequence.
    pub seed: u64,
}

/// A restriction on the next token, such as a grammar. Opaque to the engine.
pub trait TokenMask: Send + std::fmt::Debug {
    /// Clears the bit of each token that may not come next (`mask` has one bit per id, 32 ids per word, all set).
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), String>;
    /// Tells which token was chosen.
    fn advance(&mut self, token: u32) -> Result<(), String>;
}

/// What happened to one sequence in one engine step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// New tokens, in order; usually one, several with speculation.
    pub tokens: Vec<Token>,
    /// Set in the last step.
    pub finish: Option<Finish>,
    /// Prompt tokens that the prefix cache had (the same in each step).
    pub cached_tokens: usize,
}

/// A generated token.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Its log-probability and the alternatives, where asked for.
    pub logprobs: Option<Box<Logprobs>>,
}

/// Log-probabilities (natural) at one position, before temperature.
#[derive(Debug, Clone, PartialEq)]
pub struct Logprobs {
    /// Of the token chosen.
    pub chosen: f32,
    /// The likeliest (id, logprob), likeliest first.
    pub top: Vec<(u32, f32)>,
}

/// Why a sequence ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Finish {
    /// This stop id came (it is counted as a generated token).
    Stop(u32),
    /// `max_tokens` or the context was reached.
    Length,
    /// The engine failed; the message is for the log.
    Error(String),
}

/// A request that can't be queued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// Nothing in it, or more than the context (or the whole cache) holds.
    #[error("the prompt has {tokens} tokens, the context holds {context}")]
    PromptLength {
        /// Tokens of the prompt.
        tokens: usize,
        /// Tokens that fit.
        context: usize,
    },
    /// An id that the model doesn't have.
    #[error("token id {0} is not in the vocabulary")]
    UnknownToken(u32),
    /// Too many wait already.
    #[error("the engine's queue is full ({0} requests wait)")]
    Busy(usize),
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

/// The stream of one sequence. Dropping it cancels the sequence at the next step.
#[derive(Debug)]
pub struct Generation {
    /// Steps in order; closed without a `finish` only if the engine died.
    pub steps: mpsc::Receiver<Step>,
}
