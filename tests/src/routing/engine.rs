//! A simulated engine: slots of its batch, a queue, one prefill at a time, decoding that slows down with the batch, a prefix
//! cache in what the running requests leave of the KV memory.

use std::collections::VecDeque;

use super::cache::PrefixCache;
use host::remote::routing::ReportedLoad;

/// Requests in the batch at most.
const SLOTS: usize = 12;
/// Tokens per second of a prefill, and microseconds that each costs besides.
const PREFILL_RATE: u64 = 8000;
const PREFILL_START: u64 = 5000;
/// Microseconds between tokens: alone, and more for each request in the batch.
const STEP: u64 = 10_000;
const STEP_PER_REQUEST: u64 = 300;

/// One request's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompt {
    /// Chain of the application's system prompt, and its tokens.
    pub(super) system_key: u64,
    pub(super) system: u32,
    /// Chain of the conversation's tokens after it, and how many there are.
    pub(super) own_key: u64,
    pub(super) own: u32,
    pub(super) output: u32,
}

/// What a request found and when it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    /// Number of the request, as given to `enqueue`.
    pub(super) request: usize,
    /// Cached tokens after the system prompt.
    pub(super) own_hit: u32,
    /// Microseconds: of the first token, of the last.
    pub(super) first_token: u64,
    pub(super) ends: u64,
}

pub(super) struct Engine {
    kv_tokens: u64,
    cache: PrefixCache,
    queue: VecDeque<(usize, Prompt)>,
    /// Request, prompt, time of the first token.
    running: Vec<(usize, Prompt, u64)>,
    running_tokens: u64,
    prefill_free: u64,
    pub(super) is_dead: bool,
    pub(super) is_failing: bool,
}

impl Engine {
    /// Engine with this many tokens of KV memory.
    pub(super) fn new(kv_tokens: u64) -> Self {
        Self {
            kv_tokens,
            cache: PrefixCache::default(),
            queue: VecDeque::new(),
            running: Vec::new(),
            running_tokens: 0,
            prefill_free: 0,
            is_dead: false,
            is_failing: false,
        }
    }

    /// Requests in the batch and in the queue.
    pub(super) fn load(&self) -> usize {
        self.running.len() + self.queue.len()
    }

    /// Tokens of the prompt that are cached: of the system prompt, and after it.
    pub(super) fn cached(&self, prompt: &Prompt) -> (u32, u32) {
        let system = self.cache.tokens_of(prompt.system_key).min(prompt.system);
        let own =
            if system == prompt.system { self.cache.tokens_of(prompt.own_key).min(prompt.own) } else { 0 };
        (system, own)
    }

    pub(super) fn cached_tokens(&self) -> u64 {
        self.cache.tokens()
    }

    pub(super) fn enqueue(&mut self, request: usize, prompt: Prompt) {
        self.queue.push_back((request, prompt));
    }

    /// The next request of the queue, if there is a slot for it.
    pub(super) fn admit(&mut self, now: u64) -> Option<Admission> {
        if self.running.len() >= SLOTS {
            return None;
        }
        let (request, prompt) = self.queue.pop_front()?;
        let (system_hit, own_hit) = self.cached(&prompt);
        let missing = u64::from(prompt.system - system_hit) + u64::from(prompt.own - own_hit);
        let first_token = self.prefill_free.max(now) + PREFILL_START + missing * 1_000_000 / PREFILL_RATE;
        self.prefill_free = first_token;
        self.running.push((request, prompt, first_token));
        self.running_tokens += u64::from(prompt.output);
        self.keep(&prompt, prompt.own);
        let step = STEP + STEP_PER_REQUEST * self.running.len() as u64;
        Some(Admission { request, own_hit, first_token, ends: first_token + u64::from(prompt.output) * step })
    }

    /// Ends a request that runs: its answer stays in the cache.
    pub(super) fn finish(&mut self, request: usize) {
        if let Some(at) = self.running.iter().position(|running| running.0 == request) {
            let (_, prompt, _) = self.running.swap_remove(at);
            self.running_tokens -= u64::from(prompt.output);
            self.keep(&prompt, prompt.own + prompt.output);
        }
    }

    /// Loses all; returns the requests, with whether their first token was out.
    pub(super) fn crash(&mut self, now: u64) -> Vec<(usize, bool)> {
        let lost = std::mem::replace(self, Self::new(self.kv_tokens));
        self.is_dead = true;
        let running = lost.running.iter().map(|&(request, _, first_token)| (request, first_token <= now));
        running.chain(lost.queue.iter().map(|&(request, _)| (request, false))).collect()
    }

    pub(super) fn gauges(&self) -> ReportedLoad {
        let held = |prompt: &Prompt| u64::from(prompt.system + prompt.own + prompt.output);
        let held: u64 = self.running.iter().map(|(_, prompt, _)| held(prompt)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let kv_used = held as f32 / self.kv_tokens as f32;
        let count = |requests: usize| u32::try_from(requests).unwrap_or(u32::MAX);
        ReportedLoad {
            running: count(self.running.len()),
            waiting: count(self.queue.len()),
            kv_used: Some(kv_used),
        }
    }

    /// The system prompt is used after the conversation, so that it is evicted after it.
    fn keep(&mut self, prompt: &Prompt, own: u32) {
        self.cache.put(prompt.own_key, own);
        if prompt.system > 0 {
            self.cache.put(prompt.system_key, prompt.system);
        }
        self.cache.shrink(self.kv_tokens.saturating_sub(self.running_tokens));
    }
}
