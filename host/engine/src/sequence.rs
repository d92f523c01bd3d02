//! One sequence in the engine: its tokens, how many of them are computed, its KV blocks, and its
//! queue of steps to the client.
//!
//! Invariants: `computed <= tokens.len() + steps_in_flight <= limit`, except while a draft is under
//! way, when nothing is planned for the sequence; without KV blocks nothing is computed; exactly
//! one step carries a finish.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::blocks::{BlockPool, BlockTable};
use crate::error::{GenerationError, MaskError};
use crate::generation::{Finish, GenerationRequest, StepOutput, TokenMask};
use crate::lanes::Lanes;
use crate::logits::LogitsState;
use crate::outlet::Outlet;
use crate::prompt_scores::PromptScores;
use crate::speculation::{DraftRequest, Speculation, guarded};
use crate::token::{SamplingParams, Token};
use crate::waiting_room::Place;

/// Whether a sequence waits for its mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MaskWait {
    #[default]
    No,
    /// The mask wasn't ready when the row's logits were: the sequence takes part in no step until
    /// the mask is ready.
    Waits,
    /// The mask is ready: the next step samples the token, without a draft, whose masks might be
    /// late again.
    Waited,
}

/// Number of tokens that a sequence generates at least between two preemptions for other
/// principals.
const PROTECTED_TOKENS: usize = 16;

/// A request in the engine, from its arrival to its last step.
pub(crate) struct Sequence {
    /// Number of sequences that began before this one, set when it begins. The scheduler finds a
    /// sequence by this number.
    pub(crate) admission: u64,
    /// Priority among the principal's own sequences: those with a lower number begin first and are
    /// preempted last.
    pub(crate) priority: i32,
    /// Principal that the sequence belongs to, as the request's cache salt: the queue is fair among
    /// principals.
    pub(crate) principal: u64,
    /// Time, since the engine began, at which the sequence was queued.
    pub(crate) queued_at: Duration,
    /// Time that the sequence waited before it began.
    pub(crate) queued: Duration,
    /// When the tokens of the step being retired were there.
    pub(crate) step_at: Option<Instant>,
    /// Place among the waiting requests, taken while the sequence waits.
    pub(crate) place: Option<Place>,
    /// Prompt and generated tokens.
    pub(crate) tokens: Vec<u32>,
    /// Number of tokens whose keys and values are in the KV cache once the steps under way are
    /// done.
    pub(crate) computed: usize,
    /// Number of the sequence's tokens in the step being planned, its draft included.
    pub(crate) scheduled: usize,
    /// Number of steps under way that sample for the sequence. Each brings a token, one with a
    /// draft perhaps more.
    pub(crate) steps_in_flight: usize,
    /// Draft of the step being planned: guessed tokens that run behind the known ones.
    pub(crate) draft: Vec<u32>,
    /// Source of the sequence's drafts.
    pub(crate) speculation: Speculation,
    /// Error of the mask; the sequence ends with it in the step being planned.
    pub(crate) fault: Option<MaskError>,
    /// KV blocks that hold the sequence's keys and values.
    pub(crate) table: BlockTable,
    /// Lane in the runner, while the sequence holds KV blocks.
    pub(crate) lane: Option<u32>,
    /// How often the sequence was given KV blocks. What was computed in earlier blocks is lost.
    pub(crate) block_epoch: u32,
    /// Number of tokens from which on the sequence may be preempted for another principal.
    protected_until: usize,
    /// Whether the sequence pauses, because its client doesn't read.
    pub(crate) paused: bool,
    /// Temperature, seed and other parameters of sampling.
    pub(crate) sampling: SamplingParams,
    /// Logits processors and their counts; `None` where logits stay as they are.
    pub(crate) logits_state: Option<Box<LogitsState>>,
    /// Number of likeliest alternatives to report; `None`: no logprobs at all.
    pub(crate) top_logprobs: Option<u8>,
    /// Log-probabilities of the prompt's tokens, if they are asked for, until they are sent.
    pub(crate) scores: Option<PromptScores>,
    /// Mask that restricts each next token.
    pub(crate) mask: Option<Box<dyn TokenMask>>,
    /// Whether a mask gave way that hasn't been counted yet.
    pub(crate) lost_mask: bool,
    /// Whether the sequence waits for its mask.
    pub(crate) mask_wait: MaskWait,
    /// Queue of steps to the client.
    pub(crate) outlet: Outlet,
    stop_ids: Arc<[u32]>,
    limit: usize,
    /// Number of prompt tokens.
    pub(crate) prompt: usize,
    /// Whether the prompt ends with a message of the user.
    pub(crate) opens_turn: bool,
    /// Number of prompt tokens that were found in the prefix cache, once the sequence has begun.
    pub(crate) cached: Option<usize>,
}

impl Sequence {
    /// A sequence that may grow to `capacity` tokens.
    pub(crate) fn new(request: GenerationRequest, capacity: usize, outlet: Outlet) -> Self {
        let (prompt, mut tokens) = (request.prompt.len(), request.prompt);
        tokens.extend(request.begun);
        let is_only_scored = request.prompt_logprobs.is_some() && prompt > 1;
        let most = request.max_tokens.max(usize::from(!is_only_scored));
        let limit = tokens.len().saturating_add(most).min(capacity);
        Self {
            admission: 0,
            priority: request.priority,
            principal: request.principal,
            queued_at: Duration::ZERO,
            queued: Duration::ZERO,
            step_at: None,
            place: None,
            tokens,
            computed: 0,
            scheduled: 0,
            steps_in_flight: 0,
            draft: Vec::new(),
            speculation: Speculation::default(),
            fault: None,
            table: BlockTable::salted(request.cache_salt),
            lane: None,
            block_epoch: 0,
            protected_until: 0,
            paused: false,
            sampling: request.sampling,
            logits_state: LogitsState::new(request.processors, prompt),
            top_logprobs: request.top_logprobs,
            scores: request.prompt_logprobs.map(|top| PromptScores::new(top, prompt)),
            mask: request.mask,
            lost_mask: false,
            mask_wait: MaskWait::default(),
            outlet,
            stop_ids: request.stop_ids,
            limit,
            prompt,
            opens_turn: request.opens_turn,
            cached: None,
        }
    }

    /// Number of tokens: the known ones, and one for each step under way that samples for the
    /// sequence.
    pub(crate) fn length(&self) -> usize {
        self.tokens.len() + self.steps_in_flight
    }

    /// Number of tokens still to be computed: 1 while the sequence decodes, 0 while its last token
    /// or a draft is under way. Of a prompt that is scored only, the last token needn't be
    /// computed.
    pub(crate) fn pending(&self) -> usize {
        if self.limit == self.prompt {
            return (self.prompt - 1).saturating_sub(self.computed);
        }
        if self.length() < self.limit { self.length().saturating_sub(self.computed) } else { 0 }
    }

    /// Drafts tokens for the step being planned, in which the sequence decodes: at most `most`, and
    /// no more than fit if prompt and output together have room for `room` tokens.
    pub(crate) fn plan_draft(&mut self, most: usize, room: usize) {
        // One more token is sampled behind the last draft token.
        let most = most.min(self.limit.min(room).saturating_sub(self.tokens.len() + 1));
        self.speculation.attempted(self.tokens.len());
        if most == 0 {
            return;
        }
        let request = DraftRequest {
            tokens: &self.tokens,
            stop_ids: &self.stop_ids,
            mask: self.mask.as_deref_mut().map(|mask| mask as _),
            most,
        };
        if let Err(fault) = self.speculation.draft(request, &mut self.draft) {
            self.draft.clear();
            self.fault = Some(fault);
        }
        self.scheduled += self.draft.len();
    }

    /// Removes the draft from the step being planned; false where there is none.
    pub(crate) fn drop_draft(&mut self) -> bool {
        self.scheduled -= self.draft.len();
        let any = !self.draft.is_empty();
        self.draft.clear();
        any
    }

    /// Number of the first tokens that may be taken from the prefix cache: all but the last, or
    /// those whose logits nobody needs.
    pub(crate) fn reusable(&self) -> usize {
        self.scores.as_ref().map_or(self.tokens.len() - 1, PromptScores::known)
    }

    /// Takes scores of the prompt, the first of which is of the token behind position `from`. A
    /// sequence that is only scored ends with the last of them.
    pub(crate) fn take_scores(&mut self, from: usize, tokens: impl Iterator<Item = Token>) {
        let Some(scores) = &mut self.scores else { return };
        scores.take(from, tokens);
        if self.limit == self.prompt && scores.is_complete() {
            self.end(Finish::Length);
        }
    }

    /// Allocates a lane, and KV blocks for all tokens with cached ones first, if `reserve` blocks
    /// remain free. Returns the number of tokens that the prefix cache has already; `None` where
    /// nothing was allocated.
    pub(crate) fn allocate(
        &mut self,
        pool: &mut BlockPool,
        lanes: &mut Lanes,
        reserve: usize,
    ) -> Option<usize> {
        debug_assert!(self.steps_in_flight == 0, "all its tokens are known");
        if !lanes.has_free() {
            return None;
        }
        let reusable = self.reusable();
        self.computed = pool.allocate(&mut self.table, &self.tokens, reusable, reserve)?;
        self.lane = lanes.allocate();
        self.block_epoch += 1;
        self.cached.get_or_insert(self.computed);
        Some(self.computed)
    }

    /// Protects the sequence, which is preempted, from further preemptions for other principals
    /// until its answer is twice as long. So their number is logarithmic in the answer's length,
    /// and recomputation of what the answer had at each costs no more than its length twice.
    pub(crate) fn protect(&mut self) {
        let generated = self.tokens.len() - self.prompt;
        self.protected_until = self.tokens.len() + generated.max(PROTECTED_TOKENS);
    }

    /// Whether the sequence must not be preempted for another principal yet.
    pub(crate) fn is_protected(&self) -> bool {
        self.tokens.len() < self.protected_until
    }

    /// Frees the KV blocks and the lane. A sequence that goes on is computed again from the start.
    pub(crate) fn free(&mut self, pool: &mut BlockPool, lanes: &mut Lanes) {
        pool.free(&mut self.table);
        if let Some(lane) = self.lane.take() {
            lanes.free(lane);
        }
        self.computed = 0;
        self.scheduled = 0;
        self.draft.clear();
    }

    /// Starts the work for the mask while the step runs, where all tokens before the next one are
    /// known.
    pub(crate) fn prepare_mask(&mut self) {
        if let Some(mask) = self.mask.as_deref_mut().filter(|_| self.steps_in_flight == 0)
            && let Err(error) = guarded(|| mask.prepare(&self.draft))
        {
            self.fail_mask(error);
        }
    }

    /// Takes note that the mask has failed: a mask that gives way is dropped, and the sequence goes
    /// on without it; another ends the sequence with the error, in the step being planned.
    fn fail_mask(&mut self, error: MaskError) {
        let fault = self.mask_fault(error);
        self.fault = self.fault.take().or(fault);
    }

    /// The error with which the sequence ends since its mask has failed; `None` if the mask gives
    /// way, which is dropped then.
    pub(crate) fn mask_fault(&mut self, error: MaskError) -> Option<MaskError> {
        if self.mask.as_deref().is_some_and(|mask| guarded(|| mask.gives_way()).unwrap_or(false)) {
            let error = GenerationError::from(error);
            tracing::warn!(error = error.kind(), "a sequence goes on without its mask");
            self.mask = None;
            self.lost_mask = true;
            return None;
        }
        Some(error)
    }

    /// Whether the sequence's mask is ready; if not, the waker is woken once it may be.
    pub(crate) fn poll_mask(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, MaskError> {
        self.mask.as_deref_mut().map_or(Ok(Poll::Ready(())), |mask| guarded(|| mask.poll_ready(cx)))
    }

    /// Makes the sequence wait for its late mask, after which its rows are computed again. Returns
    /// how many tokens remain computed.
    pub(crate) fn wait_for_mask(&mut self) -> usize {
        self.mask_wait = MaskWait::Waits;
        self.computed = self.computed.min(self.tokens.len().saturating_sub(1));
        self.computed
    }

    /// Ends the wait for the sequence's mask, if the mask is ready or has failed.
    pub(crate) fn end_mask_wait(&mut self, cx: &mut Context<'_>) {
        if self.mask_wait != MaskWait::Waits {
            return;
        }
        match self.poll_mask(cx) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(())) => self.mask_wait = MaskWait::Waited,
            Err(error) => {
                self.mask_wait = MaskWait::Waited;
                self.fail_mask(error);
            }
        }
    }

    /// Appends the tokens of a step, up to one that ends the sequence, and sends them to the
    /// client. Returns how many there were, a stop token included.
    pub(crate) fn accept(&mut self, tokens: Vec<Token>) -> Result<usize, GenerationError> {
        let mut accepted = Vec::with_capacity(tokens.len());
        self.mask_wait = MaskWait::No;
        for token in tokens {
            let refused = self.mask.as_mut().and_then(|mask| mask.advance(token.id).err());
            if let Some(error) = refused.and_then(|error| self.mask_fault(error)) {
                self.send(StepOutput { tokens: accepted, ..StepOutput::default() });
                return Err(error.into());
            }
            if self.stop_ids.contains(&token.id) {
                let count = accepted.len() + 1;
                let finish = Some(Finish::Stop(token.id));
                let stop_logprobs = token.logprobs;
                self.send(StepOutput { tokens: accepted, finish, stop_logprobs, ..StepOutput::default() });
                return Ok(count);
            }
            self.tokens.push(token.id);
            accepted.push(token);
            if self.tokens.len() >= self.limit {
                break;
            }
        }
        let count = accepted.len();
        let finish = (self.tokens.len() >= self.limit).then_some(Finish::Length);
        self.send(StepOutput { tokens: accepted, finish, ..StepOutput::default() });
        Ok(count)
    }

    /// Sends the last step, with `finish`, to the client. The sequence is dropped after that.
    pub(crate) fn end(&mut self, finish: Finish) {
        self.send(StepOutput { finish: Some(finish), ..StepOutput::default() });
    }

    fn send(&mut self, step: StepOutput) {
        if step.is_empty() {
            return;
        }
        let scores = self.scores.take_if(|scores| scores.is_complete());
        let prompt_tokens = scores.map(PromptScores::into_tokens).unwrap_or_default();
        let (cached_tokens, queued, at) = (self.cached.unwrap_or(0), self.queued, self.step_at);
        self.outlet.send(StepOutput { prompt_tokens, cached_tokens, queued, at, ..step });
    }
}
