//! Switches of what operators see beside logs: names of metrics, and where traces go.

use server::traces::TraceExporter;

#[derive(clap::Args)]
pub(super) struct TelemetryArguments {
    /// Prefix of the metrics that vLLM has, too: `vllm:` for dashboards that were made for it
    /// [default: sluice_].
    #[arg(long, value_name = "PREFIX", value_parser = metrics_prefix)]
    pub(super) metrics_prefix: Option<String>,
    /// Collector that gets a span for each answer, by OTLP over HTTP in JSON: its base URL, to which
    /// `/v1/traces` is appended [default: none].
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    otlp_endpoint: Option<String>,
}

impl TelemetryArguments {
    /// Exporter of traces, if there is a collector.
    pub(super) fn exporter(&self) -> anyhow::Result<Option<TraceExporter>> {
        let endpoint = self.otlp_endpoint.as_deref().filter(|endpoint| !endpoint.is_empty());
        let made = endpoint.map(TraceExporter::new).transpose();
        made.map_err(|error| anyhow::anyhow!("--otlp-endpoint: {error}"))
    }
}

/// A prefix that gives valid names.
fn metrics_prefix(text: &str) -> Result<String, String> {
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == ':';
    let begins = text.starts_with(|char: char| is_of_name(char) && !char.is_ascii_digit());
    if begins && text.chars().all(is_of_name) {
        Ok(text.to_owned())
    } else {
        Err("a prefix has letters, digits, `_` and `:`, and doesn't begin with a digit".to_owned())
    }
}
