//! A request in the form that remote engines get.

use std::sync::Arc;

use engine::{Constraint, GenerationRequest, LogitsProcessors, RouteKey, SamplingParams};

use super::schema::SchemaGaps;

/// One sequence to generate: the fields of [`GenerationRequest`] that can be sent.
#[derive(Debug, Clone)]
pub(super) struct RemoteRequest {
    pub(super) prompt: Vec<u32>,
    pub(super) max_tokens: usize,
    pub(super) sampling: SamplingParams,
    pub(super) processors: LogitsProcessors,
    pub(super) stop_ids: Arc<[u32]>,
    pub(super) ignore_eos: bool,
    pub(super) top_logprobs: Option<u8>,
    pub(super) prompt_logprobs: Option<u8>,
    pub(super) constraint: Option<Arc<Constraint>>,
    /// Most tokens of reasoning.
    pub(super) reasoning_budget: Option<u32>,
    /// What compilers of schemas don't follow of the constraint's schema, unless the constraint is
    /// optional.
    pub(super) schema_gaps: SchemaGaps,
    pub(super) cache_salt: u64,
    pub(super) affinity: RouteKey,
    pub(super) principal: u64,
    pub(super) priority: i32,
    /// The caller's trace.
    pub(super) traceparent: Option<Arc<str>>,
}

impl RemoteRequest {
    /// Number of tokens before which nothing ends the answer; at most `max_tokens`, since engines
    /// refuse more.
    pub(super) fn min_tokens(&self) -> usize {
        self.processors.min_tokens.min(self.max_tokens)
    }

    /// Takes the fields of `request`; `context` limits the tokens of prompt and answer together. An
    /// output that has begun is a part of the prompt to such engines, so penalties by what was
    /// generated don't count it.
    pub(super) fn new(mut request: GenerationRequest, context: usize) -> Self {
        let processors = &mut request.processors;
        processors.min_tokens = processors.min_tokens.saturating_sub(request.begun.len());
        request.prompt.append(&mut request.begun);
        let demanded = request.constraint.as_deref().filter(|constraint| !constraint.is_optional);
        let schema = demanded.and_then(|constraint| constraint.json.as_ref());
        let room = context.saturating_sub(request.prompt.len()).max(1);
        Self {
            prompt: request.prompt,
            // A prompt may be scored without an answer.
            max_tokens: request.max_tokens.clamp(usize::from(request.prompt_logprobs.is_none()), room),
            sampling: request.sampling,
            processors: request.processors,
            stop_ids: request.stop_ids,
            ignore_eos: request.ignore_eos,
            top_logprobs: request.top_logprobs,
            prompt_logprobs: request.prompt_logprobs,
            schema_gaps: schema.map(|json| SchemaGaps::of(&json.schema)).unwrap_or_default(),
            constraint: request.constraint,
            reasoning_budget: request.reasoning_budget,
            cache_salt: request.cache_salt,
            affinity: request.affinity,
            principal: request.principal,
            priority: request.priority,
            traceparent: request.traceparent,
        }
    }

    /// A copy of the request without its constraint, if that is optional.
    pub(super) fn without_optional(&self) -> Option<Self> {
        let is_optional = self.constraint.as_ref().is_some_and(|constraint| constraint.is_optional);
        is_optional.then(|| Self { constraint: None, ..self.clone() })
    }

    /// Whether the request has a mandatory constraint that `follows` rejects.
    pub(super) fn demands_more(&self, follows: impl Fn(&Constraint) -> bool) -> bool {
        let constraint = self.constraint.as_deref().filter(|constraint| !constraint.is_optional);
        constraint.is_some_and(|constraint| !follows(constraint))
    }

    /// Ids of the banned tokens; none if one of the banned texts has several tokens.
    pub(super) fn banned_ids(&self) -> Option<Vec<u32>> {
        let one = |sequence: &Vec<u32>| if let [id] = sequence[..] { Some(id) } else { None };
        self.processors.banned.iter().map(one).collect()
    }
}
