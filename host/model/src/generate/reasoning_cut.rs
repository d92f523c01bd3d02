//! The end of a turn's reasoning before its time, when its client asks for that or a budget is spent: the
//! tokens that end reasoning follow those that were told, and the engine goes on behind them.
//!
//! Invariant: the turn's own sequence goes on until another one has taken its place, so a cut that
//! isn't possible changes nothing. A remote engine may still refuse the other one, which fails the
//! answer: asked before the first one has left, an engine of one slot would wait for itself.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use engine::{Constraint, Generation, GenerationRequest, StepOutput, StepStream, Token};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::answer_context::{AnswerContext, GenerationNumber};
use crate::constraint::AnswerConstraint;
use crate::served::Served;
use turn::Turn;

/// Most cuts of a turn: a model that goes on thinking would have an engine asked again and again.
const MOST_CUTS: usize = 16;

/// When a turn's reasoning is cut short, and how.
pub(crate) struct CutRule {
    /// Whether a client may ask for it.
    pub(crate) on_request: bool,
    /// Most tokens of reasoning, if nothing else keeps that bound.
    pub(crate) budget: Option<u32>,
    /// Tokens that end reasoning.
    pub(crate) end: Arc<[u32]>,
    /// What an engine that makes masks itself has to follow behind them.
    pub(crate) behind: Option<Arc<Constraint>>,
}

/// What is needed to cut a turn's reasoning short.
pub(crate) struct ReasoningCut {
    served: Arc<Served>,
    /// The turn's request, without a mask, and with the tokens that were told as its beginning.
    request: GenerationRequest,
    constraint: Arc<AnswerConstraint>,
    rule: CutRule,
    /// Cuts that may still be made.
    left: usize,
    /// What every step of the turn tells of its prompt.
    prompt: PromptFacts,
}

#[derive(Clone, Copy, Default)]
struct PromptFacts {
    cached_tokens: usize,
    queued: Duration,
}

impl ReasoningCut {
    /// Cuts by `rule` of the turn that `request` asks for, under this constraint.
    pub(crate) fn new(
        served: Arc<Served>,
        request: GenerationRequest,
        constraint: Arc<AnswerConstraint>,
        rule: CutRule,
    ) -> Self {
        Self { served, request, constraint, rule, left: MOST_CUTS, prompt: PromptFacts::default() }
    }

    /// Takes note of what a step tells of the prompt.
    pub(super) fn step(&mut self, step: &StepOutput) {
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
    fn has_room(&self) -> bool {
        self.left > 0 && self.request.begun.len() + self.rule.end.len() < self.limit()
    }

    /// Whether the reasoning can be cut if its client asks for that.
    pub(super) fn may_be_asked(&self) -> bool {
        self.rule.on_request && self.has_room()
    }

    /// Whether the turn's reasoning has spent its budget, and can be cut.
    pub(super) fn is_due(&self, turn: &Turn) -> bool {
        let is_spent = |budget| turn.is_reasoning() && turn.tokens().reasoning >= budget;
        self.rule.budget.is_some_and(is_spent) && self.has_room()
    }

    /// Whether tokens behind the budget may be left out: a cut is sure to come, since no mask could
    /// forbid the end.
    pub(super) fn counts_tokens(&self) -> bool {
        self.rule.budget.is_some() && !self.constraint.has_masks()
    }

    /// Begins the sequence that goes on behind the reasoning's end, which its first step has; none
    /// where the end may not come yet. The last `dropped` tokens of the step before aren't told. Its mask is advanced on a thread of its own.
    pub(super) fn begin(
        &mut self,
        (context, number): (AnswerContext, GenerationNumber),
        dropped: usize,
    ) -> BoxFuture<'static, Option<Generation>> {
        self.left -= 1;
        let end = Arc::clone(&self.rule.end);
        let mut request = GenerationRequest {
            prompt_logprobs: None,
            reasoning_budget: None,
            constraint: self.rule.behind.clone(),
            mask: self.constraint.mask(self.limit()),
            ..self.request.without_mask()
        };
        request.begun.extend(&*end);
        request.max_tokens = request.max_tokens.saturating_sub(request.begun.len());
        let (served, prompt) = (Arc::clone(&self.served), self.prompt);
        async move {
            let told = request.begun.len() - end.len();
            let request = if request.mask.is_some() {
                tokio::task::spawn_blocking(move || masked(request, told)).await.ok()??
            } else {
                request
            };
            let rest = served.source.engine()?.submit(request);
            let rest = rest.inspect_err(|error| tracing::warn!(%error, "reasoning can't be ended")).ok()?;
            let tokens = end.iter().map(|id| Token { id: *id, logprobs: None }).collect();
            let first = Some(StepOutput { tokens, ..StepOutput::default() });
            Some(context.recording(Generation::new(Resumed { first, rest, prompt }), number, dropped))
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
    first: Option<StepOutput>,
    rest: Generation,
    prompt: PromptFacts,
}

impl StepStream for Resumed {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        let step = match self.first.take() {
            Some(step) => Poll::Ready(Some(step)),
            None => std::pin::pin!(self.rest.next()).as_mut().poll(cx),
        };
        let PromptFacts { cached_tokens, queued } = self.prompt;
        step.map(|step| step.map(|step| StepOutput { cached_tokens, queued, ..step }))
    }
}
