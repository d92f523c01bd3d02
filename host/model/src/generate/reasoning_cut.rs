//! The end of a turn's reasoning before its time: the tokens that end reasoning follow those that were
//! told, and the engine goes on behind them.
//!
//! Invariant: the turn's own sequence goes on until another one has taken its place, so a cut that
//! isn't possible changes nothing.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use engine::{Generation, GenerationRequest, Step, StepStream, Token};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::answer_context::{AnswerContext, GenerationNumber};
use crate::constraint::AnswerConstraint;
use crate::served::Served;

/// What is needed to cut a turn's reasoning short.
pub(crate) struct ReasoningCut {
    served: Arc<Served>,
    /// The turn's request, without a mask, and with the tokens that were told as its beginning.
    request: GenerationRequest,
    constraint: Arc<AnswerConstraint>,
    /// Tokens that end reasoning.
    end: Arc<[u32]>,
    /// What every step of the turn tells of its prompt.
    prompt: PromptFacts,
}

#[derive(Clone, Copy, Default)]
struct PromptFacts {
    cached_tokens: usize,
    queued: Duration,
}

impl ReasoningCut {
    /// A cut by the tokens `end` of the turn that `request` asks for, under this constraint.
    pub(crate) fn new(
        served: Arc<Served>,
        request: GenerationRequest,
        constraint: Arc<AnswerConstraint>,
        end: Vec<u32>,
    ) -> Self {
        Self { served, request, constraint, end: end.into(), prompt: PromptFacts::default() }
    }

    /// Takes note of what a step tells of the prompt.
    pub(super) fn step(&mut self, step: &Step) {
        self.prompt = PromptFacts { cached_tokens: step.cached_tokens, queued: step.queued };
    }

    /// Takes note of tokens that were told.
    pub(super) fn told(&mut self, tokens: &[Token]) {
        self.request.begun.extend(tokens.iter().map(|token| token.id));
    }

    /// Most tokens of the turn.
    fn limit(&self) -> usize {
        let context = self.served.source.info().context;
        self.request.max_tokens.min(context.saturating_sub(self.request.prompt.len()))
    }

    /// Whether there is room for an answer behind the end.
    pub(super) fn has_room(&self) -> bool {
        self.request.begun.len() + self.end.len() < self.limit()
    }

    /// Begins the sequence that goes on behind the reasoning's end, which its first step has; none
    /// where the end may not come yet. Its mask is advanced on a thread of its own.
    pub(super) fn begin(
        &self,
        (context, number): (AnswerContext, GenerationNumber),
    ) -> BoxFuture<'static, Option<Generation>> {
        let mut request = self.request.without_mask();
        request.begun.extend(&*self.end);
        request.max_tokens = request.max_tokens.saturating_sub(request.begun.len());
        request.mask = self.constraint.mask(self.limit());
        let (served, end, prompt) = (Arc::clone(&self.served), Arc::clone(&self.end), self.prompt);
        async move {
            let told = request.begun.len() - end.len();
            let request = if request.mask.is_some() {
                tokio::task::spawn_blocking(move || masked(request, told)).await.ok()??
            } else {
                request
            };
            let rest = served.source.local()?.submit(request);
            let rest = rest.inspect_err(|error| tracing::warn!(%error, "reasoning can't be ended")).ok()?;
            let tokens = end.iter().map(|id| Token { id: *id, logprobs: None }).collect();
            let first = Some(Step { tokens, ..Step::default() });
            Some(context.recording(Generation::new(Resumed { first, rest, prompt }), number))
        }
        .boxed()
    }
}

/// Advances a request's mask by the tokens that it begins with; none where those behind the first
/// `told` may not come.
fn masked(mut request: GenerationRequest, told: usize) -> Option<GenerationRequest> {
    let (told, end) = request.begun.split_at(told);
    let mask = request.mask.as_mut()?;
    if told.iter().any(|id| mask.advance(*id).is_err()) {
        // A mask that failed while the turn ran has given way there, too.
        let gives_way = mask.gives_way();
        request.mask = None;
        return gives_way.then_some(request);
    }
    end.iter().all(|id| mask.advance(*id).is_ok()).then_some(request)
}

/// The steps of a turn behind its reasoning.
struct Resumed {
    /// The reasoning's end.
    first: Option<Step>,
    rest: Generation,
    prompt: PromptFacts,
}

impl StepStream for Resumed {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>> {
        let step = match self.first.take() {
            Some(step) => Poll::Ready(Some(step)),
            None => std::pin::pin!(self.rest.next()).as_mut().poll(cx),
        };
        let PromptFacts { cached_tokens, queued } = self.prompt;
        step.map(|step| step.map(|step| Step { cached_tokens, queued, ..step }))
    }
}
