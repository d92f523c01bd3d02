//! Metrics of each remote engine. Labels are the model and the URL that the operator gave.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};

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
        let outcome = |outcome| counter!("sluice_upstream_requests_total", "model_name" => Arc::clone(model), "upstream" => Arc::clone(engine), "outcome" => outcome);
        let figure = |name: &'static str| counter!(name, "model_name" => Arc::clone(model), "upstream" => Arc::clone(engine));
        Self {
            completed: outcome("completed"),
            refused: outcome("refused"),
            failed: outcome("failed"),
            cancelled: outcome("cancelled"),
            retries: figure("sluice_upstream_retries_total"),
            affinity_hits: figure("sluice_upstream_affinity_hits_total"),
            cached_tokens: figure("sluice_upstream_cached_tokens_total"),
            first_token: histogram!("sluice_upstream_first_token_seconds", "model_name" => Arc::clone(model), "upstream" => Arc::clone(engine)),
        }
    }

    /// Records the time from sending a request to its first token.
    pub(super) fn first_token(&self, after: Duration) {
        self.first_token.record(after.as_secs_f64());
    }
}

/// Registers the descriptions of the metrics.
pub fn describe() {
    metrics::describe_counter!(
        "sluice_upstream_requests_total",
        "Requests to remote engines, by engine and outcome."
    );
    metrics::describe_counter!(
        "sluice_upstream_retries_total",
        "Requests sent to this engine after another had failed to begin the answer."
    );
    metrics::describe_counter!(
        "sluice_upstream_affinity_hits_total",
        "Requests sent to the engine that served the previous request of their affinity key."
    );
    metrics::describe_counter!(
        "sluice_upstream_cached_tokens_total",
        "Prompt tokens that the engine had cached."
    );
    metrics::describe_histogram!(
        "sluice_upstream_first_token_seconds",
        "Time from a request to an engine to its first token."
    );
    metrics::describe_gauge!("sluice_upstream", "State of a remote engine, by figure.");
}
