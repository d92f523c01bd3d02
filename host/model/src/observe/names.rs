//! Names of the metrics that vLLM has, too. Their prefix is the operator's (`--metrics-prefix`), so
//! that dashboards that were made for vLLM find them; metrics of this server alone always begin
//! with `sluice_`.

use std::sync::OnceLock;

/// Prefix of the names, unless the operator chooses one.
const DEFAULT_PREFIX: &str = "sluice_";

static PREFIX: OnceLock<String> = OnceLock::new();

/// Sets the prefix of the names. Only the first call counts, and only if it comes before any metric
/// is made.
pub fn set_prefix(prefix: &str) {
    let _ = PREFIX.set(prefix.to_owned());
}

/// A metric that vLLM has, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricName {
    /// Its name without prefix.
    name: &'static str,
    help: &'static str,
}

impl MetricName {
    /// Requests that the engine works on.
    pub const RUNNING: Self =
        Self { name: "num_requests_running", help: "Requests that the engine works on." };
    /// Requests that wait for the engine.
    pub const WAITING: Self =
        Self { name: "num_requests_waiting", help: "Requests that wait for the engine." };
    /// Share of the KV cache that sequences hold.
    pub const KV_CACHE_USAGE: Self =
        Self { name: "kv_cache_usage_perc", help: "Share of the KV cache that sequences hold." };
    /// Sequences that lost their KV blocks.
    pub const PREEMPTIONS: Self =
        Self { name: "num_preemptions_total", help: "Sequences that lost their KV blocks." };
    /// Draft tokens that were run.
    pub const DRAFTED: Self =
        Self { name: "spec_decode_num_draft_tokens_total", help: "Draft tokens that were run." };
    /// Draft tokens that were accepted.
    pub const ACCEPTED: Self =
        Self { name: "spec_decode_num_accepted_tokens_total", help: "Draft tokens that were accepted." };
    /// Tokens of prompts.
    pub const PROMPT_TOKENS: Self = Self { name: "prompt_tokens_total", help: "Tokens of prompts." };
    /// Generated tokens.
    pub const GENERATION_TOKENS: Self = Self { name: "generation_tokens_total", help: "Generated tokens." };
    /// Prompt tokens that were looked up in the prefix cache.
    pub const CACHE_QUERIES: Self = Self {
        name: "prefix_cache_queries_total",
        help: "Prompt tokens that were looked up in the prefix cache.",
    };
    /// Prompt tokens that were found there.
    pub const CACHE_HITS: Self =
        Self { name: "prefix_cache_hits_total", help: "Prompt tokens that were found there." };
    /// Turns that have ended.
    pub const SUCCESS: Self = Self { name: "request_success_total", help: "Turns that have ended." };
    /// Time from a request to the first event of its answer.
    pub const FIRST_TOKEN: Self = Self {
        name: "time_to_first_token_seconds",
        help: "Time from a request to the first event of its answer.",
    };
    /// Time between two tokens.
    pub const TOKEN_GAP: Self =
        Self { name: "inter_token_latency_seconds", help: "Time between two tokens." };
    /// Time from a request to the end of its answer.
    pub const LATENCY: Self =
        Self { name: "e2e_request_latency_seconds", help: "Time from a request to the end of its answer." };
    /// Time in the engine's queue.
    pub const QUEUE_TIME: Self =
        Self { name: "request_queue_time_seconds", help: "Time in the engine's queue." };
    /// Time from the queue's end to the first token.
    pub const PREFILL_TIME: Self =
        Self { name: "request_prefill_time_seconds", help: "Time from the queue's end to the first token." };
    /// Time from the first token to the last.
    pub const DECODE_TIME: Self =
        Self { name: "request_decode_time_seconds", help: "Time from the first token to the last." };
    /// Length of prompts.
    pub const PROMPT_LENGTH: Self = Self { name: "request_prompt_tokens", help: "Length of prompts." };
    /// Length of answers.
    pub const GENERATION_LENGTH: Self =
        Self { name: "request_generation_tokens", help: "Length of answers." };

    /// What it is.
    pub fn help(self) -> &'static str {
        self.help
    }

    /// The name with its prefix.
    pub fn full(self) -> String {
        format!("{}{}", PREFIX.get().map_or(DEFAULT_PREFIX, String::as_str), self.name)
    }
}

/// Metrics that are gauges.
const GAUGES: [MetricName; 3] = [MetricName::RUNNING, MetricName::WAITING, MetricName::KV_CACHE_USAGE];

/// Metrics that are counters.
const COUNTERS: [MetricName; 8] = [
    MetricName::PREEMPTIONS,
    MetricName::DRAFTED,
    MetricName::ACCEPTED,
    MetricName::PROMPT_TOKENS,
    MetricName::GENERATION_TOKENS,
    MetricName::CACHE_QUERIES,
    MetricName::CACHE_HITS,
    MetricName::SUCCESS,
];

/// Metrics that are histograms.
const HISTOGRAMS: [MetricName; 7] = [
    MetricName::FIRST_TOKEN,
    MetricName::LATENCY,
    MetricName::QUEUE_TIME,
    MetricName::PREFILL_TIME,
    MetricName::DECODE_TIME,
    MetricName::PROMPT_LENGTH,
    MetricName::GENERATION_LENGTH,
];

/// Registers the descriptions of the metrics.
pub fn describe() {
    for name in GAUGES {
        metrics::describe_gauge!(name.full(), name.help);
    }
    for name in COUNTERS {
        metrics::describe_counter!(name.full(), name.help);
    }
    for name in HISTOGRAMS {
        metrics::describe_histogram!(name.full(), name.help);
    }
    metrics::describe_counter!("sluice_parser_calls_total", "Calls of parsers, by parser.");
    metrics::describe_histogram!(
        "sluice_parsing_seconds",
        "Time that detokenizing and parsing took in a turn, by parser."
    );
}
