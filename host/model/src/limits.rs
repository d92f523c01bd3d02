//! Bounds of what a model serves, with their default values, and the rows of those that the operator
//! can change.

use std::time::Duration;

use bounds::Field::{Time, U32, Usize};
use bounds::Unit::{Count, Mib, Milliseconds};
use bounds::{Bound, Bounded, bound};
use parsers::ParserLimits;
use prompt::PromptLimits;
use remote::RemoteLimits;

/// Maximum number of blocking threads, which make prompts: more would only compete for cores with
/// each other and with the engine. Half of them may compile grammars.
pub const PROMPT_THREADS: usize = 16;

/// Bounds of requests' memory and CPU time, of queues and masks; those of prompts, parsers and remote
/// engines.
#[derive(Debug, Clone)]
pub struct ModelLimits {
    /// Bytes of memory that all requests may hold while their bodies are read and their prompts are
    /// made.
    pub request_memory: usize,
    /// CPU time for reading and prompts that the requests of one key may use, in percent of all
    /// cores.
    pub request_cpu: u32,
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
            request_memory: 256 << 20,
            request_cpu: 50,
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
        bound("request-memory", Mib, 16..=1_048_576, "Memory for reading requests, all together, at three times the size of their bodies; further requests get 503", |l| Usize(&mut l.request_memory)),
        bound("request-cpu", Count("PERCENT"), 1..=100, "Share of all cores that reading one key's requests and preparing their prompts may use; further requests get 429 for a while", |l| U32(&mut l.request_cpu)),
        bound("mask-time", Milliseconds, 1..=10_000, "Average CPU time per token for the masks of a constrained answer, beyond the allowance of 100 tokens", |l| Time(&mut l.mask_time)),
        bound("max-waiting", Count("ANSWERS"), 1..=1_000_000, "Answers that may be queued for the engine; further requests get 429. With several keys, one may have half of the places at most", |l| Usize(&mut l.waiting_requests)),
        bound("stream-queue", Count("STEPS"), 1..=65_536, "Steps of an answer that may be queued for a slow client; while the queue is full, the engine pauses the answer", |l| Usize(&mut l.stream_queue)),
    ];
}
