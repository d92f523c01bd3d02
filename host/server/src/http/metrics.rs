//! Metrics in Prometheus' text format. Names begin with `sluice_`; labels never hold anything that
//! a client chose.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::{metered_store, store_upkeep};
use model::accounts::Overdrawn;
use model::{LoadResult, Models};

static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();

/// Installs the process-wide recorder, once. It comes before everything that makes metrics, such as
/// models and their engines: a handle that was made before counts for nothing.
pub fn install() {
    HANDLE.get_or_init(|| {
        let buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0, 300.0];
        let builder = PrometheusBuilder::new().set_buckets(&buckets).expect("the list isn't empty");
        let of_store = Matcher::Full(metered_store::SECONDS.to_owned());
        let builder =
            builder.set_buckets_for_metric(of_store, &metered_store::BUCKETS).expect("nor is this one");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        // Fails only if another recorder is installed already; then this one stays empty.
        let _ = metrics::set_global_recorder(recorder);
        describe();
        handle
    });
}

fn describe() {
    metrics::describe_counter!("sluice_requests_total", "Responses, by route and status.");
    metrics::describe_counter!("sluice_prompt_tokens_total", "Prompt tokens of answers.");
    metrics::describe_counter!("sluice_generated_tokens_total", "Generated tokens of answers.");
    metrics::describe_counter!("sluice_parser_faults_total", "Streams whose parser failed, by parser.");
    metrics::describe_counter!(
        "sluice_parser_reloads_total",
        "Checks of parsers' files for changes, by result."
    );
    metrics::describe_counter!("sluice_stream_violations_total", "Streams that broke the event grammar.");
    metrics::describe_counter!(
        "sluice_slow_readers_total",
        "Streams cut off because their client read nothing."
    );
    metrics::describe_counter!(
        "sluice_overdrawn_total",
        "Requests refused because a budget was spent, by budget."
    );
    metrics::describe_counter!(
        "sluice_connections_refused_total",
        "Connections refused beyond the limit of concurrent ones."
    );
    metrics::describe_counter!(
        "sluice_log_lines_lost_total",
        "Log lines lost because stderr did not take them."
    );
    metrics::counter!("sluice_log_lines_lost_total").increment(0);
    metrics::describe_counter!("sluice_tool_calls_total", "Calls of tools, by tool server and outcome.");
    metrics::describe_counter!(
        "sluice_tool_floods_total",
        "Connections that ended because a tool server sent too much, by tool server."
    );
    metrics::describe_gauge!("sluice_request_memory_bytes", "Memory for requests that are being read.");
    metrics::describe_gauge!("sluice_grammar_bytes", "Memory that compiled grammars hold.");
    metrics::describe_gauge!("sluice_streams", "Answers in progress.");
    metrics::describe_gauge!("sluice_websockets", "Open WebSockets.");
    metrics::describe_histogram!(
        "sluice_first_token_seconds",
        "Time from a request to the first event of its turn."
    );
    metrics::describe_histogram!("sluice_answer_seconds", "Time from a request to the end of its answer.");
    metrics::describe_gauge!("sluice_engine", "State of the engine, by figure.");
    metrics::describe_counter!(
        "sluice_malformed_arguments_total",
        "Calls of tools whose arguments are no JSON."
    );
    metrics::describe_counter!(
        "sluice_dropped_calls_total",
        "Calls dropped because the request forbids calls."
    );
    metrics::describe_counter!("sluice_truncated_messages_total", "Messages dropped to make a prompt fit.");
    metered_store::describe();
    store_upkeep::describe();
    model::remote::describe();
}

/// Makes the metrics of events that haven't happened yet, so that a scrape has each of them from
/// the start, with the value 0.
pub(super) fn register(models: &Models) {
    const OF_MODELS: [&str; 7] = [
        "sluice_prompt_tokens_total",
        "sluice_generated_tokens_total",
        "sluice_malformed_arguments_total",
        "sluice_dropped_calls_total",
        "sluice_truncated_messages_total",
        "sluice_stream_violations_total",
        "sluice_slow_readers_total",
    ];
    for model in models {
        for name in OF_MODELS {
            let _ = metrics::counter!(name, "model" => model.label());
        }
        let parser = model.parsers().serving.name;
        let _ = metrics::counter!("sluice_parser_faults_total", "model" => model.label(), "parser" => parser);
        for result in LoadResult::ALL {
            let _ = metrics::counter!("sluice_parser_reloads_total", "model" => model.label(), "result" => result.name());
        }
        let _ = metrics::gauge!("sluice_streams", "model" => model.label());
        let _ = metrics::histogram!("sluice_first_token_seconds", "model" => model.label());
        let _ = metrics::histogram!("sluice_answer_seconds", "model" => model.label());
    }
    let _ = metrics::counter!("sluice_connections_refused_total");
    let budgets =
        [Overdrawn::Memory, Overdrawn::PrincipalMemory, Overdrawn::Cpu { retry_after: Duration::ZERO }];
    for budget in budgets {
        let _ = metrics::counter!("sluice_overdrawn_total", "what" => budget.what());
    }
}

/// Moves samples into the state that scrapes read; called every few seconds so that they don't
/// accumulate.
pub(super) fn upkeep() {
    if let Some(handle) = HANDLE.get() {
        handle.run_upkeep();
    }
}

/// Text of a scrape.
pub(super) fn render() -> String {
    HANDLE.get().map(PrometheusHandle::render).unwrap_or_default()
}
