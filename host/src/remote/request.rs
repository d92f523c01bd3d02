//! A request as engines elsewhere get it.

use std::sync::Arc;

use engine::{Constraint, GenerationRequest, LogitsProcessors, SamplingParams};

/// One sequence to generate; see [`GenerationRequest`], of which it is what can be sent.
#[derive(Debug)]
pub(super) struct RemoteRequest {
    pub(super) prompt: Vec<u32>,
    pub(super) max_tokens: usize,
    pub(super) sampling: SamplingParams,
    pub(super) processors: LogitsProcessors,
    pub(super) stop_ids: Arc<[u32]>,
    pub(super) top_logprobs: Option<u8>,
    pub(super) constraint: Option<Arc<Constraint>>,
    pub(super) cache_salt: u64,
    pub(super) affinity: u64,
    pub(super) priority: i32,
}

impl RemoteRequest {
    /// What of `request` is sent, where prompt and answer have `context` tokens together.
    pub(super) fn new(request: GenerationRequest, context: usize) -> Self {
        let room = context.saturating_sub(request.prompt.len()).max(1);
        Self {
            prompt: request.prompt,
            max_tokens: request.max_tokens.clamp(1, room),
            sampling: request.sampling,
            processors: request.processors,
            stop_ids: request.stop_ids,
            top_logprobs: request.top_logprobs,
            constraint: request.constraint,
            cache_salt: request.cache_salt,
            affinity: request.affinity,
            priority: request.priority,
        }
    }

    /// Logit biases, and the ids that must not come (those of one token; longer ones are `None`).
    pub(super) fn banned_ids(&self) -> Option<Vec<u32>> {
        let one = |sequence: &Vec<u32>| if let [id] = sequence[..] { Some(id) } else { None };
        self.processors.banned.iter().map(one).collect()
    }
}
