//! The end of a turn's reasoning before its time: the tokens that end reasoning follow those that were
//! told, and the engine goes on behind them.
//!
//! Invariant: the engine's own sequence goes on until another one has taken its place, so a cut that
//! isn't possible changes nothing.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use engine::{Generation, GenerationRequest, Step, StepStream, SubmitError, Token};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::answer_context::{AnswerContext, GenerationNumber};
use crate::served::Served;

/// What a cut came to: the generation that goes on, or what it needs another time.
pub(super) type Cut = Result<Generation, Option<Box<ReasoningCut>>>;

/// What is needed to cut a turn's reasoning short.
pub(crate) struct ReasoningCut {
    served: Arc<Served>,
    /// The turn's request, with a mask of its own, and the tokens that were told as its beginning.
    request: GenerationRequest,
    /// Number of these tokens by which the mask was advanced.
    masked: usize,
    /// Tokens that end reasoning.
    end: Vec<u32>,
    /// What every step of the turn tells of its prompt.
    cached: usize,
    queued: Duration,
}

impl ReasoningCut {
    /// A cut of the turn that `request` asks for, by the tokens `end`.
    pub(crate) fn new(served: Arc<Served>, request: GenerationRequest, end: Vec<u32>) -> Self {
        Self { served, request, masked: 0, end, cached: 0, queued: Duration::ZERO }
    }

    /// Takes note of what a step tells of the prompt.
    pub(super) fn step(&mut self, step: &Step) {
        (self.cached, self.queued) = (step.cached_tokens, step.queued);
    }

    /// Takes note of tokens that were told.
    pub(super) fn told(&mut self, tokens: &[Token]) {
        self.request.begun.extend(tokens.iter().map(|token| token.id));
    }

    /// Begins the sequence that goes on behind the reasoning's end, which its first step has. The
    /// mask is advanced on a thread of its own.
    pub(super) fn begin(
        mut self: Box<Self>,
        of: (AnswerContext, GenerationNumber),
    ) -> BoxFuture<'static, Cut> {
        async move {
            if self.request.mask.is_some() {
                let masked = tokio::task::spawn_blocking(move || (self.advance_mask(), self)).await;
                let Ok((may_end, cut)) = masked else { return Err(None) };
                self = cut;
                if !may_end {
                    return Err(Some(self));
                }
            }
            let begun = self.submit().map_err(|error| {
                tracing::warn!(%error, "a turn's reasoning can't be ended");
                None
            })?;
            Ok(of.0.recording(begun, of.1))
        }
        .boxed()
    }

    /// Whether there is room for an answer behind the end.
    pub(super) fn has_room(&self) -> bool {
        let context = self.served.source.info().context.saturating_sub(self.request.prompt.len());
        let most = self.request.max_tokens.min(context);
        self.request.begun.len() + self.end.len() < most
    }

    /// Advances the mask behind the reasoning's end; false where that may not come yet.
    fn advance_mask(&mut self) -> bool {
        let GenerationRequest { mask: place @ Some(_), begun, .. } = &mut self.request else { return true };
        let Some(mask) = place else { return true };
        let told = begun[self.masked..].iter().try_for_each(|id| mask.advance(*id));
        self.masked = begun.len();
        if told.is_err() && mask.gives_way() {
            // So it has for the engine.
            *place = None;
            return true;
        }
        let refused = self.end.iter().position(|id| mask.advance(*id).is_err());
        if let Some(advanced) = refused {
            let _ = mask.rollback(advanced);
        }
        told.is_ok() && refused.is_none()
    }

    fn submit(self) -> Result<Generation, SubmitError> {
        let Self { served, mut request, end, cached, queued, .. } = self;
        request.begun.extend(&end);
        request.max_tokens = request.max_tokens.saturating_sub(request.begun.len());
        let engine = served.source.local().ok_or(SubmitError::Stopped)?;
        let rest = engine.submit(request)?;
        let tokens = end.into_iter().map(|id| Token { id, logprobs: None }).collect();
        let first = Some(Step { tokens, ..Step::default() });
        Ok(Generation::new(Resumed { first, rest, cached, queued }))
    }
}

/// The steps of a turn behind its reasoning.
struct Resumed {
    /// The reasoning's end.
    first: Option<Step>,
    rest: Generation,
    cached: usize,
    queued: Duration,
}

impl StepStream for Resumed {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>> {
        let step = match self.first.take() {
            Some(step) => Poll::Ready(Some(step)),
            None => std::pin::pin!(self.rest.next()).as_mut().poll(cx),
        };
        let (cached_tokens, queued) = (self.cached, self.queued);
        step.map(|step| step.map(|step| Step { cached_tokens, queued, ..step }))
    }
}
