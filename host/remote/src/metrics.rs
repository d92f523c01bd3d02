//! Metrics of each remote engine. Labels are the model and the URL that the operator gave.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};
use system::metric::Metric;

system::declare_metrics! {
    counter REQUESTS = "sluice_upstream_requests_total", "Requests to remote engines, by engine and outcome.";
    counter RETRIES = "sluice_upstream_retries_total", "Requests sent to this engine after another had failed to begin the answer.";
    counter AFFINITY_HITS = "sluice_upstream_affinity_hits_total", "Requests sent to the engine that served the previous request of their affinity key.";
    counter CACHED_TOKENS = "sluice_upstream_cached_tokens_total", "Prompt tokens that the engine had cached.";
    histogram FIRST_TOKEN = "sluice_upstream_first_token_seconds", "Time from a request to an engine to its first token.";
    gauge STATE = "sluice_upstream", "State of a remote engine, by figure.";
}

/// Metrics of one engine. The handles are made once, since each lookup has a cost.
pub(super) struct UpstreamMetrics {
    pub(super) completed: Counter,
    pub(super) refused: Counter,
    pub(super) failed: Counter,
    pub(super) cancelled: Counter,
    /// Requests sent to this engine after another engine had failed to begin the answer.
    pub(super) retries: Counter,
    /// Requests sent to the engine that served the previous request of the same affinity key.
    pub(super) affinity_hits: Counter,
    /// Prompt tokens that the engine had in its cache.
    pub(super) cached_tokens: Counter,
    first_token: Histogram,
}

impl UpstreamMetrics {
    pub(super) fn new(model: &Arc<str>, engine: &Arc<str>) -> Self {
        let outcome = |outcome| counter!(REQUESTS.name(), "model_name" => Arc::clone(model), "upstream" => Arc::clone(engine), "outcome" => outcome);
        let figure = |metric: Metric| counter!(metric.name(), "model_name" => Arc::clone(model), "upstream" => Arc::clone(engine));
        Self {
            completed: outcome("completed"),
            refused: outcome("refused"),
            failed: outcome("failed"),
            cancelled: outcome("cancelled"),
            retries: figure(RETRIES),
            affinity_hits: figure(AFFINITY_HITS),
            cached_tokens: figure(CACHED_TOKENS),
            first_token: histogram!(FIRST_TOKEN.name(), "model_name" => Arc::clone(model), "upstream" => Arc::clone(engine)),
        }
    }

    /// Records the time from sending a request to its first token.
    pub(super) fn first_token(&self, after: Duration) {
        self.first_token.record(after.as_secs_f64());
    }
}
