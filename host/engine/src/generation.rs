//! Trait [`Engine`] with its request and stream types: a request of token ids goes in, a stream of
//! steps comes out. Dropping the stream cancels the sequence.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::constraint::Constraint;
use crate::error::{GenerationError, MaskError, SubmitError};
use crate::info::{EngineInfo, EngineStats};
use crate::logits::LogitsProcessors;
use crate::token::{Logprobs, SamplingParams, Token};

/// An engine for one model. Methods never block; work happens on the engine's own threads.
///
/// ```
/// use engine::{Engine, Generation, GenerationRequest, SubmitError};
///
/// /// The whole answer's ids, once the engine has taken the request on.
/// async fn answer(engine: &dyn Engine, request: GenerationRequest) -> Result<Vec<u32>, SubmitError> {
///     let mut generation: Generation = engine.submit(request)?;
///     generation.started().await?;
///     let mut ids = Vec::new();
///     while let Some(step) = generation.next().await {
///         ids.extend(step.tokens.iter().map(|token| token.id));
///     }
///     Ok(ids)
/// }
/// ```
pub trait Engine: Send + Sync {
    /// Facts that callers need: name, context length, size of the vocabulary, supported
    /// constraints.
    fn info(&self) -> &EngineInfo;
    /// Queues a request. Refusals that aren't known at once are returned by
    /// [`Generation::started`].
    fn submit(&self, request: GenerationRequest) -> Result<Generation, SubmitError>;
    /// Figures for metrics; zeros where the engine keeps none.
    fn stats(&self) -> EngineStats {
        EngineStats::default()
    }
    /// Whether the engine takes requests.
    fn is_alive(&self) -> bool {
        true
    }
    /// Error of the lost device, after which the engine can't run again in this process; `None`
    /// while the device works.
    fn lost(&self) -> Option<&str> {
        None
    }
}

/// Request to generate one sequence.
#[derive(Debug)]
pub struct GenerationRequest {
    /// Token ids of the prompt: at least one, each below [`EngineInfo::vocab`].
    pub prompt: Vec<u32>,
    /// Tokens that were generated already, behind the prompt: the sequence goes on with the next one,
    /// and reports none of them. The mask was advanced by them. Only the local engine takes them.
    pub begun: Vec<u32>,
    /// Maximum number of tokens that are still to be generated: at least 1, or 0 where the prompt is scored and has
    /// several tokens.
    pub max_tokens: usize,
    /// Temperature, seed and other parameters of sampling.
    pub sampling: SamplingParams,
    /// Changes to the logits before sampling. Token ids in them are below [`EngineInfo::vocab`].
    pub processors: LogitsProcessors,
    /// Token ids that end the sequence. The one that ends it is reported in [`Finish::Stop`] and
    /// isn't part of [`Step::tokens`].
    pub stop_ids: Arc<[u32]>,
    /// Whether an engine that has end tokens of its own goes on behind them; `stop_ids` end the
    /// sequence all the same.
    pub ignore_eos: bool,
    /// Number of likeliest alternatives to report with each token; `None`: no logprobs at all.
    pub top_logprobs: Option<u8>,
    /// Number of likeliest alternatives to report with each token of the prompt behind its first
    /// ([`Step::prompt_tokens`]); `None`: the prompt isn't scored.
    pub prompt_logprobs: Option<u8>,
    /// Mask that restricts each next token, for engines with [`crate::ConstraintSupport::masks`].
    pub mask: Option<Box<dyn TokenMask>>,
    /// Constraint as source, for engines that make their own masks. An engine that doesn't support
    /// it refuses the request, unless the constraint is optional.
    pub constraint: Option<Arc<Constraint>>,
    /// Principal (API key) that the request belongs to. The local engine is fair among principals.
    pub principal: u64,
    /// Salt of the prefix cache. Requests with different salts share no KV blocks, and so learn
    /// nothing of each other's prompts; different principals have different salts.
    pub cache_salt: u64,
    /// Routing hash: requests with the same beginning have the same number, so that a router sends
    /// them to the upstream engine whose prefix cache has this beginning. The hash includes the
    /// principal's salt.
    pub affinity: u64,
    /// Priority among requests of one principal: waiting ones with a lower number begin first, and
    /// are preempted last. 0 is usual.
    pub priority: i32,
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
            principal: 0,
            cache_salt: 0,
            affinity: 0,
            priority: 0,
            queue,
            traceparent: None,
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
    pub fn check_not_begun(&self, engine: &str) -> Result<(), SubmitError> {
        if self.begun.is_empty() {
            return Ok(());
        }
        let reason =
            format!("the engine ({engine}) goes on with no output: only a model on this machine does");
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

/// A restriction on the next token, such as a grammar. Opaque to the engine.
///
/// ```
/// use engine::{MaskError, TokenMask};
///
/// /// Ids below a bound.
/// #[derive(Debug)]
/// struct Below(u32);
///
/// impl TokenMask for Below {
///     fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
///         let ids = (0..).flat_map(|word| (0..32).map(move |bit| (word, bit)));
///         for (word, bit) in ids.take(mask.len() * 32).skip(self.0 as usize) {
///             mask[word] &= !(1 << bit);
///         }
///         Ok(())
///     }
///
///     fn advance(&mut self, token: u32) -> Result<(), MaskError> {
///         if token < self.0 { Ok(()) } else { Err(MaskError::Refused(token)) }
///     }
/// }
///
/// let mut mask = [u32::MAX; 2];
/// Below(33).apply(&mut mask)?;
/// assert_eq!(mask, [u32::MAX, 1]);
/// # Ok::<(), MaskError>(())
/// ```
pub trait TokenMask: Send + std::fmt::Debug {
    /// Clears the bit of each token that may not come next (`mask` has one bit per id, 32 ids per
    /// word, all set).
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError>;
    /// Advances the mask by the token that was chosen.
    fn advance(&mut self, token: u32) -> Result<(), MaskError>;
    /// Called when a step begins: starts the work for the masks of the next token and of the token
    /// behind each token of `draft`, perhaps on another thread. [`Self::apply`] is called while the
    /// step runs or after it. A repeated call for the same masks does nothing.
    fn prepare(&mut self, draft: &[u32]) {
        let _ = draft;
    }
    /// Ready once the prepared masks are computed; until then the waker is woken when they may be.
    /// A sequence whose mask isn't ready takes no part in steps, and of its mask only this method
    /// and [`Self::prepare`] are called.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Ready(())
    }
    /// Returns how many of `tokens` may come next, one after the other; the mask stays as it is.
    /// Drafts are cut to this length. The default is 0, for a mask that can't roll back: its
    /// sequence gets no drafts.
    fn validate(&mut self, tokens: &[u32]) -> usize {
        let _ = tokens;
        0
    }
    /// Undoes the last `tokens` calls of [`Self::advance`]. They were made for draft tokens, behind
    /// the last token that was sampled. A mask that overrides [`Self::validate`] overrides this
    /// method, too.
    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        Err(MaskError::Failed(format!("it can't take {tokens} tokens back")))
    }
    /// Appends at most `limit` tokens to `out` that are likely next because the mask allows only
    /// one text; the mask stays as it is. The tokens become a draft like any other: each is sampled
    /// before it is accepted.
    fn forced(&mut self, out: &mut Vec<u32>, limit: usize) {
        let _ = (out, limit);
    }
}

/// Result of one engine step for one sequence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// New tokens, in order; usually one, several with speculation.
    pub tokens: Vec<Token>,
    /// Reason why the sequence ended; set in the last step.
    pub finish: Option<Finish>,
    /// Log-probabilities of the token in [`Finish::Stop`], if they are asked for and told.
    pub stop_logprobs: Option<Box<Logprobs>>,
    /// Tokens of the prompt behind its first, with log-probabilities: in the first step, if the
    /// request asks for them.
    pub prompt_tokens: Vec<Token>,
    /// Number of prompt tokens that were found in the prefix cache (the same in each step).
    pub cached_tokens: usize,
    /// Time that the sequence waited in the engine's queue before it began (the same in each step);
    /// zero where the engine doesn't know.
    pub queued: Duration,
    /// When the step's tokens were there; `None` where the engine doesn't say. The same for all
    /// sequences of a step of the local engine, which reads its clock once.
    pub at: Option<Instant>,
    /// Number of tokens that were generated besides `tokens`: an upstream engine counts them and
    /// doesn't tell their ids.
    pub untold_tokens: usize,
}

impl Step {
    /// Whether the step has no token and no finish: it only tells the client that the sequence
    /// begins.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.finish.is_none()
    }

    /// Returns the refusal of the request if the step has one, else the step itself.
    #[expect(clippy::result_large_err, reason = "it is the step itself, which the caller goes on with")]
    pub(crate) fn into_refusal(self) -> Result<SubmitError, Self> {
        match self {
            Self { finish: Some(Finish::Refused(refusal)), .. } => Ok(refusal),
            step => Err(step),
        }
    }
}

/// Why a sequence ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Finish {
    /// The sequence generated this stop id, which is counted as a generated token.
    Stop(u32),
    /// `max_tokens` or the context was reached.
    Length,
    /// The engine refused the request; nothing was generated.
    Refused(SubmitError),
    /// The engine failed; the message is for the log.
    Error(GenerationError),
}

/// Stream of one sequence's steps. Dropping it cancels the sequence at the next step.
pub struct Generation {
    steps: Box<dyn StepStream>,
    started: bool,
    ended: bool,
}

/// Source of a generation's steps: a queue that an engine fills, a script, or a connection.
///
/// ```
/// use std::task::{Context, Poll};
/// use engine::{Finish, Generation, Step, StepStream};
///
/// /// Ends at once.
/// struct Nothing;
///
/// impl StepStream for Nothing {
///     fn poll_step(&mut self, _: &mut Context<'_>) -> Poll<Option<Step>> {
///         Poll::Ready(Some(Step { finish: Some(Finish::Length), ..Step::default() }))
///     }
/// }
///
/// let generation = Generation::new(Nothing);
/// # drop(generation);
/// ```
pub trait StepStream: Send {
    /// Ready once the engine takes or refuses the request. An engine with a queue takes it at once,
    /// or, where the time in the queue is limited, when the sequence begins; an engine behind a
    /// connection when its answer begins. Not polled again after it was ready.
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        let _ = cx;
        Poll::Ready(Ok(()))
    }
    /// The next step; `None` only if the engine died before a step with `finish`. Not polled again
    /// after `None` or a step with `finish`.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>>;
}

/// Steps of a generation without any token.
struct Nothing;

impl StepStream for Nothing {
    fn poll_step(&mut self, _: &mut Context<'_>) -> Poll<Option<Step>> {
        Poll::Ready(Some(Step { finish: Some(Finish::Length), ..Step::default() }))
    }
}

impl Generation {
    /// Creates a generation of no tokens, which no engine is needed for.
    pub fn nothing() -> Self {
        Self::new(Nothing)
    }

    /// Creates a generation that returns the steps of `steps`.
    pub fn new(steps: impl StepStream + 'static) -> Self {
        Self { steps: Box::new(steps), started: false, ended: false }
    }

    /// Waits until the engine takes or refuses the request ([`StepStream::poll_start`]), and not
    /// for a token. A refused generation has ended. Cancel safe; further calls return at once.
    pub async fn started(&mut self) -> Result<(), SubmitError> {
        if self.started || self.ended {
            return Ok(());
        }
        let word = std::future::poll_fn(|cx| self.steps.poll_start(cx)).await;
        self.started = true;
        self.ended = word.is_err();
        word
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
