//! Metrics in Prometheus' text format. Names begin with `sluice_`, or with the operator's prefix
//! where vLLM has the same metric; labels never hold anything that a client chose.

mod buckets;
mod engines;
mod registered;

use std::fmt::Write as _;
use std::sync::OnceLock;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use model::Models;
use model::observe::metrics::{TOKEN_GAP, TOKEN_GAP_BEFORE};
pub(crate) use registered::register;
use system::metric;

static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();

/// Installs the process-wide recorder, once; `prefix` is that of the names that vLLM has, too. It
/// comes before everything that makes metrics, such as models and their engines: a handle that was
/// made before counts for nothing.
pub fn install(prefix: Option<&str>) {
    HANDLE.get_or_init(|| {
        prefix.into_iter().for_each(metric::set_prefix);
        let recorder = buckets::set(PrometheusBuilder::new()).build_recorder();
        let handle = recorder.handle();
        // Fails only if another recorder is installed already; then this one stays empty.
        let _ = metrics::set_global_recorder(recorder);
        registered::describe();
        handle
    });
}

/// Moves samples into the state that scrapes read; called every few seconds so that they don't
/// accumulate.
pub(crate) fn upkeep() {
    if let Some(handle) = HANDLE.get() {
        handle.run_upkeep();
    }
}

/// Text of a scrape.
pub(crate) fn render(models: &Models) -> String {
    engines::read(models);
    let mut text = HANDLE.get().map(PrometheusHandle::render).unwrap_or_default();
    for metric in [TOKEN_GAP, TOKEN_GAP_BEFORE] {
        let name = metric.name();
        let _ = write!(text, "# HELP {name} {}\n# TYPE {name} histogram\n", metric.help());
        for model in models {
            model.metrics().gaps().write(&name, &model.label(), &mut text);
        }
    }
    text
}
