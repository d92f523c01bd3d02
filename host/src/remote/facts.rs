//! What was found out about an engine elsewhere.

use std::sync::Arc;

use super::wire::EngineKind;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Facts {
    /// What it speaks.
    pub(super) kind: EngineKind,
    /// What it is, for people: `vLLM 0.32.0`.
    pub(super) name: Arc<str>,
    /// What it calls the model.
    pub(super) model: String,
    /// Tokens of prompt and answer together, where it says so.
    pub(super) context: Option<usize>,
    /// Whether it tells the ids of its tokens; else its text is tokenised here.
    pub(super) tells_ids: bool,
    /// Whether it follows grammars in llguidance's dialect, with tokens by id.
    pub(super) follows_grammars: bool,
    /// Whether it follows JSON schemas.
    pub(super) follows_schemas: bool,
    /// Whether the same seed gives the same tokens.
    pub(super) follows_seeds: bool,
    /// Whether it can leave reasoning free and follow a schema behind it.
    pub(super) follows_schemas_after_reasoning: bool,
    /// By what priorities are multiplied, of which it takes the lowest first; 0: it has none.
    pub(super) priority_sign: i32,
    /// Whether its log-probabilities are those before temperature.
    pub(super) has_raw_logprobs: bool,
    /// The route that says whether it lives.
    pub(super) health: &'static str,
    /// What its metrics call its load.
    pub(super) gauges: Option<&'static Gauges>,
}

/// Names of an engine's gauges in Prometheus' text format.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gauges {
    /// Requests that are computed.
    pub(super) running: &'static str,
    /// Requests that wait.
    pub(super) waiting: &'static str,
    /// Used share of the KV cache, 0 to 1.
    pub(super) kv_used: Option<&'static str>,
}

impl Gauges {
    pub(super) const VLLM: Self = Self {
        running: "vllm:num_requests_running",
        waiting: "vllm:num_requests_waiting",
        kv_used: Some("vllm:kv_cache_usage_perc"),
    };
    pub(super) const SGLANG: Self = Self {
        running: "sglang:num_running_reqs",
        waiting: "sglang:num_queue_reqs",
        kv_used: Some("sglang:token_usage"),
    };
    pub(super) const LLAMA_CPP: Self = Self {
        running: "llamacpp:requests_processing",
        waiting: "llamacpp:requests_deferred",
        kv_used: None,
    };
}

impl Facts {
    /// What it can't do, for people; empty where it can do all.
    pub(super) fn shortcomings(&self) -> Vec<&'static str> {
        [
            (self.tells_ids, "it tells no token ids: its text is tokenised here, and special tokens are known by their text"),
            (self.follows_grammars, "it follows no grammars with tokens: forced tool calls are refused"),
            (self.follows_schemas, "it follows no JSON schemas"),
            (self.follows_schemas_after_reasoning, "JSON schemas behind reasoning that the template has opened are refused"),
            (self.follows_seeds, "seeds don't make its answers repeatable"),
            (self.priority_sign != 0, "it has no priorities"),
            (self.has_raw_logprobs, "log-probabilities are refused at temperatures other than 0 and 1"),
        ]
        .into_iter()
        .filter_map(|(can, words)| (!can).then_some(words))
        .collect()
    }
}
