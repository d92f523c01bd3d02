//! Bounds of what a model serves, with their default values, and the rows of those that the operator
//! can change.

use std::time::Duration;

use accounts::AccountLimits;
use bounds::Field::{Time, Usize};
use bounds::Unit::{Count, Milliseconds};
use bounds::{Bound, Bounded, bound};
use parsers::ParserLimits;
use prompt::PromptLimits;
use remote::RemoteLimits;

/// Maximum number of blocking threads, which make prompts: more would only compete for cores with
/// each other and with the engine. Half of them may compile grammars.
pub const PROMPT_THREADS: usize = 16;

/// Bounds of queues and masks; those of requests' accounts, prompts, parsers and remote engines.
#[derive(Debug, Clone)]
pub struct ModelLimits {
    /// Bounds of what requests may use before an answer begins.
    pub accounts: AccountLimits,
    /// CPU time that the masks of a constrained answer may take, per token on average; the time of
    /// 100 tokens is free.
    pub mask_time: Duration,
    /// Maximum number of steps that may wait between engine and client, per stream.
    pub stream_queue: usize,
    /// Maximum number of requests that may wait for the engine.
    pub waiting_requests: usize,
    /// Bounds of a parser.
    pub parser: ParserLimits,
    /// Bounds of remote engines.
    pub remote: RemoteLimits,
    /// Bounds of prompts.
    pub prompt: PromptLimits,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self {
            accounts: AccountLimits::default(),
            mask_time: Duration::from_millis(5),
            stream_queue: 64,
            waiting_requests: 1024,
            parser: ParserLimits::default(),
            remote: RemoteLimits::default(),
            prompt: PromptLimits::default(),
        }
    }
}

impl Bounded for ModelLimits {
    const HEADING: &'static str = "Limits";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("mask-time", Milliseconds, 1..=10_000, "Average CPU time per token for the masks of a constrained answer, beyond the allowance of 100 tokens", |l| Time(&mut l.mask_time)),
        bound("max-waiting", Count("ANSWERS"), 1..=1_000_000, "Answers that may be queued for the engine; further requests get 429. With several keys, one may have half of the places at most", |l| Usize(&mut l.waiting_requests)),
        bound("stream-queue", Count("STEPS"), 1..=65_536, "Steps of an answer that may be queued for a slow client; while the queue is full, the engine pauses the answer", |l| Usize(&mut l.stream_queue)),
    ];
}
