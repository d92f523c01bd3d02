//! One sequence on its way through the engine: its tokens, how far they are computed, its blocks, and its way out.
//!
//! Invariants: `computed <= tokens.len() <= limit`; without blocks nothing is computed; exactly one step carries a finish.

use std::sync::Arc;

use crate::adjust::Adjuster;
use crate::blocks::{BlockPool, BlockTable};
use crate::generation::{Finish, GenerationRequest, SamplingParams, Step, Token, TokenMask};
use crate::outlet::Outlet;

/// A request that was taken on.
pub(crate) struct Sequence {
    /// Place in the order of arrival: the oldest go first, the youngest are preempted first.
    pub(crate) arrival: u64,
    /// Prompt and generated tokens.
    pub(crate) tokens: Vec<u32>,
    /// Tokens whose keys and values are in the cache.
    pub(crate) computed: usize,
    /// Tokens of it in the step being run.
    pub(crate) scheduled: usize,
    /// Where its keys and values are.
    pub(crate) table: BlockTable,
    /// Its client doesn't read.
    pub(crate) paused: bool,
    /// How to choose tokens.
    pub(crate) sampling: SamplingParams,
    /// What to change of the logits before that.
    pub(crate) adjuster: Option<Box<Adjuster>>,
    /// Alternatives to report.
    pub(crate) top_logprobs: Option<u8>,
    /// Restricts each next token.
    pub(crate) mask: Option<Box<dyn TokenMask>>,
    /// Its way out.
    pub(crate) outlet: Outlet,
    stop_ids: Arc<[u32]>,
    prompt: usize,
    limit: usize,
    /// Prompt tokens that the prefix cache had, once it began.
    cached: Option<usize>,
}

impl Sequence {
    /// A sequence that may grow to `capacity` tokens.
    pub(crate) fn new(request: GenerationRequest, capacity: usize, outlet: Outlet) -> Self {
        let prompt = request.prompt.len();
        Self {
            arrival: 0,
            tokens: request.prompt,
            computed: 0,
            scheduled: 0,
            table: BlockTable::salted(request.cache_salt),
            paused: false,
            sampling: request.sampling,
            adjuster: Adjuster::new(request.adjustments, prompt),
            top_logprobs: request.top_logprobs,
            mask: request.mask,
            outlet,
            stop_ids: request.stop_ids,
            prompt,
            limit: prompt.saturating_add(request.max_tokens.max(1)).min(capacity),
            cached: None,
        }
    }

    /// Tokens that are still to be computed; 1 while it decodes.
    pub(crate) fn pending(&self) -> usize {
        self.tokens.len() - self.computed
    }

    /// Takes blocks for all its tokens, those of the prefix cache first, if `reserve` blocks remain free.
    /// Returns whether it did, and for a sequence that begins the tokens of its prompt that needn't be computed.
    pub(crate) fn open(&mut self, pool: &mut BlockPool, reserve: usize) -> Option<Opened> {
        self.computed = pool.open(&mut self.table, &self.tokens, reserve)?;
        let first = self.cached.is_none();
        let cached = *self.cached.get_or_insert(self.computed);
        Some(Opened { first, prompt: self.prompt, cached })
    }

    /// Gives its blocks back; it will be computed again from the start.
    pub(crate) fn close(&mut self, pool: &mut BlockPool) {
        pool.release(&mut self.table);
        self.computed = 0;
        self.scheduled = 0;
    }

    /// Takes the next token, tells the client, and returns whether that was the last.
    pub(crate) fn accept(&mut self, token: Token) -> bool {
        if self.stop_ids.contains(&token.id) {
            self.end(Finish::Stop(token.id));
            return true;
        }
        self.tokens.push(token.id);
        let finish = (self.tokens.len() >= self.limit).then_some(Finish::Length);
        let last = finish.is_some();
        self.send(vec![token], finish);
        last
    }

    /// Tells the client that it ended; it is dropped after that.
    pub(crate) fn end(&mut self, finish: Finish) {
        self.send(Vec::new(), Some(finish));
    }

    fn send(&mut self, tokens: Vec<Token>, finish: Option<Finish>) {
        self.outlet.send(Step { tokens, finish, cached_tokens: self.cached.unwrap_or(0) });
    }
}

/// How a sequence got its blocks.
pub(crate) struct Opened {
    /// For the first time, not after a preemption.
    pub(crate) first: bool,
    /// Tokens of its prompt.
    pub(crate) prompt: usize,
    /// Those of them that the prefix cache had when it first began.
    pub(crate) cached: usize,
}
