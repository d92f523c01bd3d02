//! Trait [`Engine`] with its stream types: a [`GenerationRequest`] of token ids goes in, a stream
//! of steps comes out. Dropping the stream cancels the sequence.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::error::{GenerationError, SubmitError};
use crate::info::{EngineInfo, EngineStats};
use crate::token::{Logprobs, Token};

mod mask;
mod request;

pub use mask::TokenMask;
pub use request::{GenerationRequest, RouteKey};

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

/// Result of one engine step for one sequence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepOutput {
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

impl StepOutput {
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
/// use engine::{Finish, Generation, StepOutput, StepStream};
///
/// /// Ends at once.
/// struct Nothing;
///
/// impl StepStream for Nothing {
///     fn poll_step(&mut self, _: &mut Context<'_>) -> Poll<Option<StepOutput>> {
///         Poll::Ready(Some(StepOutput { finish: Some(Finish::Length), ..StepOutput::default() }))
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
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>>;
}

/// Steps of a generation without any token.
struct Nothing;

impl StepStream for Nothing {
    fn poll_step(&mut self, _: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        Poll::Ready(Some(StepOutput { finish: Some(Finish::Length), ..StepOutput::default() }))
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
    pub async fn next(&mut self) -> Option<StepOutput> {
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
