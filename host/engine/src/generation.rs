//! The engine's contract: a request of token ids goes in, a stream of steps comes out, dropping it cancels.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::constraint::Constraint;
use crate::error::{GenerationError, MaskError, SubmitError};
use crate::info::{EngineInfo, EngineStats};
use crate::logits::LogitsProcessors;
use crate::token::{SamplingParams, Token};

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
    /// What callers must know of it.
    fn info(&self) -> &EngineInfo;
    /// Queues a request. What can't be known at once is said by [`Generation::started`].
    fn submit(&self, request: GenerationRequest) -> Result<Generation, SubmitError>;
    /// Figures for metrics; zeros where the engine keeps none.
    fn stats(&self) -> EngineStats {
        EngineStats::default()
    }
    /// Whether it takes requests.
    fn is_alive(&self) -> bool {
        true
    }
    /// Why it can't go on in this process, once its device is lost.
    fn lost(&self) -> Option<&str> {
        None
    }
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
    pub processors: LogitsProcessors,
    /// Ids that end the sequence; the one met is reported, not part of `tokens`.
    pub stop_ids: Arc<[u32]>,
    /// Likeliest alternatives to report with each token; none: no logprobs at all.
    pub top_logprobs: Option<u8>,
    /// Restricts each next token.
    pub mask: Option<Box<dyn TokenMask>>,
    /// What the mask is made of, for engines that make masks of their own. One that can't refuses the request.
    pub constraint: Option<Arc<Constraint>>,
    /// Whose request it is: requests of different salts share no blocks of the prefix cache, and so learn nothing of each other's prompts.
    /// Where requests wait, salts are served in rotation.
    pub cache_salt: u64,
    /// Requests that begin alike have the same number: an engine of several machines sends them to the one that has the beginning cached.
    /// Salted like the cache.
    pub affinity: u64,
    /// Who comes first where requests wait, and loses its place last: the lower number. 0 is usual.
    pub priority: i32,
    /// Steps that may wait unread; when they do, this sequence pauses and no other.
    pub queue: usize,
}

impl GenerationRequest {
    /// For engines that know no constraints but masks: `engine` is what they are called.
    ///
    /// # Errors
    /// The request demands one.
    pub fn check_constraint(&self, engine: &str) -> Result<(), SubmitError> {
        let must = self.constraint.as_ref().is_some_and(|constraint| !constraint.is_optional);
        if must && self.mask.is_none() { Err(SubmitError::no_constraints(engine)) } else { Ok(()) }
    }

    /// For engines that know no constraints but masks, and no priorities: `engine` is what they are called.
    ///
    /// # Errors
    /// The request asks for one of them.
    pub fn check_plain(&self, engine: &str) -> Result<(), SubmitError> {
        self.check_constraint(engine)?;
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
    /// Clears the bit of each token that may not come next (`mask` has one bit per id, 32 ids per word, all set).
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError>;
    /// Tells which token was chosen.
    fn advance(&mut self, token: u32) -> Result<(), MaskError>;
    /// A step begins, and [`Self::apply`] will be called while it runs or behind it: for the next token, and behind each token of
    /// `draft` as if it had come. Work for that may be begun elsewhere. Called again with what is prepared, it does nothing.
    fn prepare(&mut self, draft: &[u32]) {
        let _ = draft;
    }
    /// Whether what was prepared is there, so that nothing waits for it; else the waker is woken once it may be. A sequence whose mask
    /// isn't ready takes no part in steps, and nothing but this is asked of its mask.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Ready(())
    }
    /// How many of `tokens` may come next, one after the other; the mask stays as it is. Drafts are cut there. By default none, which
    /// is right for a mask that can't take tokens back: its sequence gets no drafts.
    fn validate(&mut self, tokens: &[u32]) -> usize {
        let _ = tokens;
        0
    }
    /// Takes the last `tokens` calls of [`Self::advance`] back, all since the last draw at most: they were drafts. A mask that
    /// overrides [`Self::validate`] overrides this, too.
    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        Err(MaskError::Failed(format!("it can't take {tokens} tokens back")))
    }
    /// Appends at most `most` tokens that are to be expected next since only one text may follow; the mask stays as it is. They are
    /// drafts like others: each is drawn before it counts.
    fn forced(&mut self, out: &mut Vec<u32>, most: usize) {
        let _ = (out, most);
    }
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

impl Step {
    /// Whether nothing happened.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.finish.is_none()
    }

    /// Why the request wasn't taken on, if that is what it says; else the step.
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
    /// This stop id came (it is counted as a generated token).
    Stop(u32),
    /// `max_tokens` or the context was reached.
    Length,
    /// The request wasn't taken on, and nothing was generated.
    Refused(SubmitError),
    /// The engine failed; the message is for the log.
    Error(GenerationError),
}

/// The stream of one sequence. Dropping it cancels the sequence at the next step.
pub struct Generation {
    steps: Box<dyn StepStream>,
    started: bool,
    ended: bool,
}

/// Where a generation's steps come from: a queue that an engine fills, a script, a connection.
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
    /// The engine's first word: whether it takes the request on. An engine that queues says so at once, or where a request may wait for
    /// so long only, when it begins; one behind a connection when its answer begins. Polled again until it is ready, and not after that.
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        let _ = cx;
        Poll::Ready(Ok(()))
    }
    /// The next step; `None` only if the engine died before a step with `finish`. Not polled again after either.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>>;
}

impl Generation {
    /// A generation that hands on `steps`.
    pub fn new(steps: impl StepStream + 'static) -> Self {
        Self { steps: Box::new(steps), started: false, ended: false }
    }

    /// Waits for the engine's first word, and not for a token: after it the answer has begun. A refused generation has ended.
    /// Cancel safe, and ready at once when asked again.
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
