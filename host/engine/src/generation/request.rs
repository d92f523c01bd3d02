//! [`GenerationRequest`]: what an engine is asked for, and the checks of engines that can't do all
//! of it.

use std::sync::Arc;

use super::TokenMask;
use crate::constraint::Constraint;
use crate::error::SubmitError;
use crate::logits::LogitsProcessors;
use crate::token::SamplingParams;

/// Routing key of a request: a hash, with the principal's salt, of what its prompt begins with.
/// Requests with the same beginning have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKey {
    /// The beginning alone.
    Beginning(u64),
    /// The beginning, with the client's name for the chain of requests: an agent's session, a
    /// conversation, or a cache key. Upstream engines are told of it.
    Chain(u64),
}

impl RouteKey {
    /// The number by which a router chooses.
    pub fn number(self) -> u64 {
        let (Self::Beginning(number) | Self::Chain(number)) = self;
        number
    }

    /// The number of a chain that the client named.
    pub fn chain(self) -> Option<u64> {
        match self {
            Self::Beginning(_) => None,
            Self::Chain(number) => Some(number),
        }
    }
}

/// Request to generate one sequence.
#[derive(Debug)]
pub struct GenerationRequest {
    /// Token ids of the prompt: at least one, each below
    /// [`EngineInfo::vocab`](crate::EngineInfo::vocab).
    pub prompt: Vec<u32>,
    /// Tokens that were generated already, behind the prompt: the sequence goes on with the next
    /// one, and reports none of them. The mask was advanced by them. Only the local engine takes
    /// them, and lets the sequence go on before those that haven't begun, as a preempted one.
    pub begun: Vec<u32>,
    /// Maximum number of tokens that are still to be generated: at least 1, or 0 where the prompt is
    /// scored and has several tokens.
    pub max_tokens: usize,
    /// Temperature, seed and other parameters of sampling.
    pub sampling: SamplingParams,
    /// Changes to the logits before sampling. Token ids in them are below
    /// [`EngineInfo::vocab`](crate::EngineInfo::vocab).
    pub processors: LogitsProcessors,
    /// Token ids that end the sequence. The one that ends it is reported in
    /// [`Finish::Stop`](super::Finish::Stop) and isn't part of
    /// [`StepOutput::tokens`](super::StepOutput::tokens).
    pub stop_ids: Arc<[u32]>,
    /// Whether an engine that has end tokens of its own goes on behind them; `stop_ids` end the
    /// sequence all the same.
    pub ignore_eos: bool,
    /// Number of likeliest alternatives to report with each token; `None`: no logprobs at all.
    pub top_logprobs: Option<u8>,
    /// Number of likeliest alternatives to report with each token of the prompt behind its first
    /// ([`StepOutput::prompt_tokens`](super::StepOutput::prompt_tokens)); `None`: the prompt isn't scored.
    pub prompt_logprobs: Option<u8>,
    /// Mask that restricts each next token, for engines with [`crate::ConstraintSupport::masks`].
    pub mask: Option<Box<dyn TokenMask>>,
    /// Constraint as source, for engines that make their own masks. An engine that doesn't support
    /// it refuses the request, unless the constraint is optional.
    pub constraint: Option<Arc<Constraint>>,
    /// Most tokens of reasoning, for remote engines that keep such a bound themselves.
    pub reasoning_budget: Option<u32>,
    /// Principal (API key) that the request belongs to. The local engine is fair among principals.
    pub principal: u64,
    /// Salt of the prefix cache. Requests with different salts share no KV blocks, and so learn
    /// nothing of each other's prompts; different principals have different salts.
    pub cache_salt: u64,
    /// Key by which a router chooses the upstream engine whose prefix cache has this beginning.
    pub affinity: RouteKey,
    /// Priority among requests of one principal: waiting ones with a lower number begin first, and
    /// are preempted last. 0 is usual.
    pub priority: i32,
    /// Whether the prompt ends with a message of the user: later prompts return to its end, since
    /// templates take thoughts from the history once another such message is there.
    pub opens_turn: bool,
    /// Capacity of the queue of unread steps. While the queue is full, this sequence pauses and no
    /// other.
    pub queue: usize,
    /// Trace context of the request, as W3C's `traceparent`, for engines behind a connection.
    pub traceparent: Option<Arc<str>>,
}

impl GenerationRequest {
    /// A request for the likeliest tokens, with nothing else asked for: up to `max_tokens` of them,
    /// of which up to `queue` steps may wait unread.
    ///
    /// ```
    /// let request = engine::GenerationRequest::greedy([1, 2, 3], 16, 64);
    /// assert!(request.check_plain("any").is_ok());
    /// ```
    pub fn greedy(prompt: impl Into<Vec<u32>>, max_tokens: usize, queue: usize) -> Self {
        Self {
            prompt: prompt.into(),
            begun: Vec::new(),
            max_tokens,
            sampling: SamplingParams::GREEDY,
            processors: LogitsProcessors::default(),
            stop_ids: Arc::new([]),
            ignore_eos: false,
            top_logprobs: None,
            prompt_logprobs: None,
            mask: None,
            constraint: None,
            reasoning_budget: None,
            principal: 0,
            cache_salt: 0,
            affinity: RouteKey::Beginning(0),
            priority: 0,
            opens_turn: false,
            queue,
            traceparent: None,
        }
    }

    /// The same request without its mask, which serves one sequence.
    #[must_use]
    pub fn without_mask(&self) -> Self {
        Self {
            prompt: self.prompt.clone(),
            begun: self.begun.clone(),
            processors: self.processors.clone(),
            stop_ids: Arc::clone(&self.stop_ids),
            mask: None,
            constraint: self.constraint.clone(),
            traceparent: self.traceparent.clone(),
            ..*self
        }
    }

    /// Checks the request's constraint for an engine that supports masks only. `engine` is the
    /// engine's name.
    ///
    /// # Errors
    /// The request has a constraint that isn't optional, and no mask.
    pub fn check_constraint(&self, engine: &str) -> Result<(), SubmitError> {
        let must = self.constraint.as_ref().is_some_and(|constraint| !constraint.is_optional);
        if must && self.mask.is_none() { Err(SubmitError::no_constraints(engine)) } else { Ok(()) }
    }

    /// Checks the request for an engine that can't score prompts. `engine` is the engine's name.
    ///
    /// # Errors
    /// The prompt's log-probabilities are asked for.
    pub fn check_no_scores(&self, engine: &str) -> Result<(), SubmitError> {
        if self.prompt_logprobs.is_some() { Err(SubmitError::no_scores(engine)) } else { Ok(()) }
    }

    /// Checks the request for an engine that can't go on with an output. `engine` is the engine's
    /// name.
    ///
    /// # Errors
    /// The output has begun.
    fn check_not_begun(&self, engine: &str) -> Result<(), SubmitError> {
        if self.begun.is_empty() {
            return Ok(());
        }
        let reason = format!("the engine ({engine}) goes on with no output that has begun");
        Err(SubmitError::Unsupported { field: "begun", reason })
    }

    /// Checks the request for an engine that supports no constraints but masks, no priorities and
    /// no scores of prompts. `engine` is the engine's name.
    ///
    /// # Errors
    /// The request has a constraint that isn't optional and no mask, or a priority other than 0, or
    /// asks for the prompt's log-probabilities.
    pub fn check_plain(&self, engine: &str) -> Result<(), SubmitError> {
        self.check_constraint(engine)?;
        self.check_no_scores(engine)?;
        self.check_not_begun(engine)?;
        if self.priority != 0 {
            let reason = format!("the engine ({engine}) knows no priorities");
            return Err(SubmitError::Unsupported { field: "priority", reason });
        }
        Ok(())
    }
}
