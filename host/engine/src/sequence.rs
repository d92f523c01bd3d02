//! One sequence on its way through the engine: its tokens, how far they are computed, its blocks, and its way out.
//!
//! Invariants: `computed <= tokens.len() + steps_in_flight <= limit`, but for drafts under way, behind which nothing is planned;
//! without blocks nothing is computed; exactly one step carries a finish.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::blocks::{BlockPool, BlockTable};
use crate::error::{GenerationError, MaskError};
use crate::generation::{Finish, GenerationRequest, Step, TokenMask};
use crate::lanes::Lanes;
use crate::logits::LogitsState;
use crate::outlet::Outlet;
use crate::speculation::{DraftRequest, Speculation, guarded};
use crate::token::{SamplingParams, Token};

/// Whether a sequence waits for its mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MaskWait {
    #[default]
    No,
    /// Its mask wasn't there when its row was: it takes part in no step until it is.
    Waits,
    /// It is there: the next step draws its token, and tries no draft, whose masks might be late again.
    Waited,
}

/// A request that was taken on.
pub(crate) struct Sequence {
    /// Place in the order in which sequences begin, once it has begun. Nobody else has it.
    pub(crate) begun: u64,
    /// Who comes first where sequences wait, and is preempted last: the lower number.
    pub(crate) priority: i32,
    /// Whose it is: principals are served in rotation.
    pub(crate) principal: u64,
    /// When it began to wait.
    pub(crate) queued_at: Duration,
    /// Prompt and generated tokens.
    pub(crate) tokens: Vec<u32>,
    /// Tokens whose keys and values are in the cache once the steps under way are done.
    pub(crate) computed: usize,
    /// Tokens of it in the step being planned.
    pub(crate) scheduled: usize,
    /// Steps under way that sample for it: each brings a token, one with a draft perhaps more.
    pub(crate) steps_in_flight: usize,
    /// Tokens behind its own that run in the step being planned: a guess.
    pub(crate) draft: Vec<u32>,
    /// Its drafts.
    pub(crate) speculation: Speculation,
    /// Why it can't go on; it ends with the step being planned.
    pub(crate) fault: Option<MaskError>,
    /// Where its keys and values are.
    pub(crate) table: BlockTable,
    /// Its place in the runner, while it holds blocks.
    pub(crate) lane: Option<u32>,
    /// How often it got blocks: what was computed before the last time isn't there any more.
    pub(crate) allocations: u32,
    /// Its client doesn't read.
    pub(crate) paused: bool,
    /// How to choose tokens.
    pub(crate) sampling: SamplingParams,
    /// What to change of the logits before that.
    pub(crate) logits_state: Option<Box<LogitsState>>,
    /// Alternatives to report.
    pub(crate) top_logprobs: Option<u8>,
    /// Restricts each next token.
    pub(crate) mask: Option<Box<dyn TokenMask>>,
    /// Whether it waits for that.
    pub(crate) mask_wait: MaskWait,
    /// Its way out.
    pub(crate) outlet: Outlet,
    stop_ids: Arc<[u32]>,
    limit: usize,
    /// Prompt tokens that the prefix cache had, once it began.
    cached: Option<usize>,
}

impl Sequence {
    /// A sequence that may grow to `capacity` tokens.
    pub(crate) fn new(request: GenerationRequest, capacity: usize, outlet: Outlet) -> Self {
        let prompt = request.prompt.len();
        Self {
            begun: 0,
            priority: request.priority,
            principal: request.cache_salt,
            queued_at: Duration::ZERO,
            tokens: request.prompt,
            computed: 0,
            scheduled: 0,
            steps_in_flight: 0,
            draft: Vec::new(),
            speculation: Speculation::default(),
            fault: None,
            table: BlockTable::salted(request.cache_salt),
            lane: None,
            allocations: 0,
            paused: false,
            sampling: request.sampling,
            logits_state: LogitsState::new(request.processors, prompt),
            top_logprobs: request.top_logprobs,
            mask: request.mask,
            mask_wait: MaskWait::default(),
            outlet,
            stop_ids: request.stop_ids,
            limit: prompt.saturating_add(request.max_tokens.max(1)).min(capacity),
            cached: None,
        }
    }

    /// Its tokens, with those that are certainly on their way.
    pub(crate) fn length(&self) -> usize {
        self.tokens.len() + self.steps_in_flight
    }

    /// Tokens that are still to be computed: 1 while it decodes, none while its last token or a draft is on its way.
    pub(crate) fn pending(&self) -> usize {
        if self.length() < self.limit { self.length().saturating_sub(self.computed) } else { 0 }
    }

    /// Drafts tokens for the step being planned, in which it decodes: as many as fit in `room` tokens of prompt and output, and `most`.
    pub(crate) fn plan_draft(&mut self, most: usize, room: usize) {
        // Behind the last draft comes a token more.
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

    /// Takes the draft out of the step being planned; false where there is none.
    pub(crate) fn drop_draft(&mut self) -> bool {
        self.scheduled -= self.draft.len();
        let any = !self.draft.is_empty();
        self.draft.clear();
        any
    }

    /// Takes a lane and blocks for all its tokens, those of the prefix cache first, if `reserve` blocks remain free.
    /// Returns how many of its tokens needn't be computed, if it did.
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
        self.computed = pool.allocate(&mut self.table, &self.tokens, reserve)?;
        self.lane = lanes.allocate();
        self.allocations += 1;
        self.cached.get_or_insert(self.computed);
        Some(self.computed)
    }

    /// Gives its blocks and its lane back; it will be computed again from the start, if it goes on.
    pub(crate) fn free(&mut self, pool: &mut BlockPool, lanes: &mut Lanes) {
        pool.free(&mut self.table);
        if let Some(lane) = self.lane.take() {
            lanes.free(lane);
        }
        self.computed = 0;
        self.scheduled = 0;
        self.draft.clear();
    }

    /// Lets the mask work while the step runs, where it knows all tokens before the next.
    pub(crate) fn prepare_mask(&mut self) {
        if let Some(mask) = self.mask.as_deref_mut().filter(|_| self.steps_in_flight == 0) {
            self.fault = self.fault.take().or(guarded(|| mask.prepare(&self.draft)).err());
        }
    }

    /// Whether its mask is ready; if not, the waker is woken once it may be.
    pub(crate) fn poll_mask(&mut self, cx: &mut Context<'_>) -> Result<Poll<()>, MaskError> {
        self.mask.as_deref_mut().map_or(Ok(Poll::Ready(())), |mask| guarded(|| mask.poll_ready(cx)))
    }

    /// Its mask isn't there, though its rows are: they are computed anew once it is. Returns how many tokens remain computed.
    pub(crate) fn wait_for_mask(&mut self) -> usize {
        self.mask_wait = MaskWait::Waits;
        self.computed = self.computed.min(self.tokens.len().saturating_sub(1));
        self.computed
    }

    /// Looks whether the mask has come that it waits for.
    pub(crate) fn end_mask_wait(&mut self, cx: &mut Context<'_>) {
        if self.mask_wait != MaskWait::Waits {
            return;
        }
        match self.poll_mask(cx) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(())) => self.mask_wait = MaskWait::Waited,
            Err(fault) => {
                self.mask_wait = MaskWait::Waited;
                self.fault = self.fault.take().or(Some(fault));
            }
        }
    }

    /// Takes the tokens of a step, up to one that ends it, and tells the client. Returns how many there were.
    pub(crate) fn accept(&mut self, tokens: Vec<Token>) -> Result<usize, GenerationError> {
        let mut accepted = Vec::with_capacity(tokens.len());
        self.mask_wait = MaskWait::No;
        for token in tokens {
            let refused = self.mask.as_mut().and_then(|mask| mask.advance(token.id).err());
            if let Some(error) = refused {
                self.send(accepted, None);
                return Err(error.into());
            }
            if self.stop_ids.contains(&token.id) {
                let count = accepted.len() + 1;
                self.send(accepted, Some(Finish::Stop(token.id)));
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
        self.send(accepted, finish);
        Ok(count)
    }

    /// Tells the client that it ended; it is dropped after that.
    pub(crate) fn end(&mut self, finish: Finish) {
        self.send(Vec::new(), Some(finish));
    }

    fn send(&mut self, tokens: Vec<Token>, finish: Option<Finish>) {
        if tokens.is_empty() && finish.is_none() {
            return;
        }
        self.outlet.send(Step { tokens, finish, cached_tokens: self.cached.unwrap_or(0) });
    }
}
