//! Simulated engine: a batch with slots, a queue, one prefill at a time, decoding that slows down
//! with the batch, and a prefix cache in the KV memory that the running requests leave free.

use std::collections::VecDeque;

use super::cache::PrefixCache;
use remote::routing::ReportedLoad;

/// Maximum number of requests in the batch.
const SLOTS: usize = 12;
/// Tokens per second of a prefill, and its fixed cost in microseconds.
const PREFILL_RATE: u64 = 8000;
const PREFILL_START: u64 = 5000;
/// Microseconds between two tokens: a fixed part, and a part for each request in the batch.
const STEP: u64 = 10_000;
const STEP_PER_REQUEST: u64 = 300;

/// Numbers of tokens of one request, and the keys of its chains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompt {
    /// Chain of the application's system prompt, and its number of tokens.
    pub(super) system_key: u64,
    pub(super) system: u32,
    /// Chain of the conversation's tokens after the system prompt, and their number.
    pub(super) own_key: u64,
    pub(super) own: u32,
    pub(super) output: u32,
}

/// Result of a request's admission to the batch: its cache hits and its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Admission {
    /// Number of the request, as given to `enqueue`.
    pub(super) request: usize,
    /// Cached tokens after the system prompt.
    pub(super) own_hit: u32,
    /// Times of the first and of the last token, in microseconds.
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

    /// Number of requests in the batch and in the queue.
    pub(super) fn load(&self) -> usize {
        self.running.len() + self.queue.len()
    }

    /// Numbers of the prompt's cached tokens: in the system prompt, and after it.
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

    /// Admits the next request of the queue to the batch, if there is a slot.
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

    /// Ends a running request; its answer stays in the cache.
    pub(super) fn finish(&mut self, request: usize) {
        if let Some(at) = self.running.iter().position(|running| running.0 == request) {
            let (_, prompt, _) = self.running.swap_remove(at);
            self.running_tokens -= u64::from(prompt.output);
            self.keep(&prompt, prompt.own + prompt.output);
        }
    }

    /// Drops all requests and the cache; returns the requests, each with whether its first token
    /// was sent.
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

    /// Puts the prompt into the cache. The system prompt counts as used after the conversation, so
    /// that it is evicted later.
    fn keep(&mut self, prompt: &Prompt, own: u32) {
        self.cache.put(prompt.own_key, own);
        if prompt.system > 0 {
            self.cache.put(prompt.system_key, prompt.system);
        }
        self.cache.shrink(self.kv_tokens.saturating_sub(self.running_tokens));
    }
}
