//! The engine's contract: a request of token ids goes in, a stream of steps comes out, dropping it cancels.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::adjust::Adjustments;

/// An engine for one model. Methods never block; work happens on the engine's own threads.
pub trait Engine: Send + Sync {
    /// What callers must know of it.
    fn info(&self) -> &EngineInfo;
    /// Queues a request.
    fn submit(&self, request: GenerationRequest) -> Result<Generation, SubmitError>;
    /// Figures for metrics; zeros where the engine keeps none.
    fn stats(&self) -> EngineStats {
        EngineStats::default()
    }
    /// Whether it takes requests.
    fn is_alive(&self) -> bool {
        true
    }
}

/// Figures of an engine: the first six as they are now, the rest since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngineStats {
    /// Sequences that take part in steps.
    pub running: usize,
    /// Sequences without blocks of the KV cache: new ones and preempted ones.
    pub waiting: usize,
    /// Sequences (running or waiting) whose client doesn't read.
    pub paused: usize,
    /// Blocks of the KV cache that no sequence holds (the prefix cache may still find them).
    pub free_blocks: usize,
    /// Blocks of the KV cache.
    pub total_blocks: usize,
    /// Blocks, free or held, that the prefix cache can find.
    pub cached_blocks: usize,
    /// Steps run.
    pub steps: u64,
    /// Prompt tokens of the sequences that began.
    pub prompt_tokens: u64,
    /// Those of them that the prefix cache had.
    pub prefix_hit_tokens: u64,
    /// Tokens generated, stop tokens included.
    pub generated_tokens: u64,
    /// Times that a sequence lost its blocks and had to be computed again.
    pub preemptions: u64,
    /// Sequences that ended because their client left.
    pub cancelled: u64,
    /// Sequences that ended with an error.
    pub failed: u64,
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
    /// What to change of the logits before that. Ids in it are below `vocab`.
    pub adjustments: Adjustments,
    /// Ids that end the sequence; the one met is reported, not part of `tokens`.
    pub stop_ids: Arc<[u32]>,
    /// Likeliest alternatives to report with each token; none: no logprobs at all.
    pub top_logprobs: Option<u8>,
    /// Restricts each next token.
    pub mask: Option<Box<dyn TokenMask>>,
    /// Requests of different salts share no blocks of the prefix cache, and so learn nothing of each other's prompts.
    pub cache_salt: u64,
    /// Steps that may wait unread; when they do, this sequence pauses and no other.
    pub queue: usize,
}

/// How the next token is chosen: temperature, then `min_p`, `top_k` and `top_p`, then a draw. Randomness depends on (`seed`, position) only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingParams {
    /// 0 is greedy.
    pub temperature: f32,
    /// Smallest set of likeliest tokens whose mass reaches this; in (0, 1].
    pub top_p: f32,
    /// The k likeliest only; 0 is all.
    pub top_k: u32,
    /// Only tokens that have at least this share of the likeliest one's probability; 0 is all.
    pub min_p: f32,
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
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

/// The stream of one sequence. Dropping it cancels the sequence at the next step.
pub struct Generation {
    steps: Box<dyn StepStream>,
    ended: bool,
}

/// Where a generation's steps come from: a queue that an engine fills, a script, a connection.
pub trait StepStream: Send {
    /// The next step; `None` only if the engine died before a step with `finish`. Not polled again after either.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>>;
}

impl Generation {
    /// A generation that hands on `steps`.
    pub fn new(steps: impl StepStream + 'static) -> Self {
        Self { steps: Box::new(steps), ended: false }
    }

    /// The next step; `None` after the one with `finish`, or when the engine died.
    /// Cancel safe: a future that is dropped before it is ready takes no step with it.
    pub async fn next(&mut self) -> Option<Step> {
        if self.ended {
            return None;
        }
        let step = std::future::poll_fn(|cx| self.steps.poll_step(cx)).await;
        self.ended = step.as_ref().is_none_or(|step| step.finish.is_some());
        step
    }
}

impl std::fmt::Debug for Generation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generation").field("ended", &self.ended).finish_non_exhaustive()
    }
}
