//! Descriptions of the metrics, and their first values.

use std::time::Duration;

use crate::http::metrics::engines;
use crate::state::{metered_store, read_places, store_upkeep};
use crate::traces::{EXPORTED, LOST};
use accounts::Overdrawn;
use model::{LoadResult, Models};

pub(crate) fn describe() {
    metrics::describe_counter!("sluice_requests_total", "Responses, by route and status.");
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
    metrics::describe_counter!(EXPORTED, "Spans that the collector took.");
    metrics::describe_counter!(LOST, "Spans that the collector didn't take, or that found no place to wait.");
    metrics::describe_gauge!("sluice_request_memory_bytes", "Memory for requests that are being read.");
    metrics::describe_gauge!("sluice_grammar_bytes", "Memory that compiled grammars hold.");
    metrics::describe_gauge!("sluice_streams", "Answers in progress.");
    metrics::describe_gauge!("sluice_websockets", "Open WebSockets.");
    metrics::describe_counter!(
        "sluice_malformed_arguments_total",
        "Calls of tools whose arguments are no JSON."
    );
    metrics::describe_counter!(
        "sluice_dropped_calls_total",
        "Calls dropped because the request forbids calls."
    );
    metrics::describe_counter!(
        "sluice_probes_total",
        "Requests for one token that said they are a probe: no other metric, record or trace has them."
    );
    metrics::describe_counter!("sluice_truncated_messages_total", "Messages dropped to make a prompt fit.");
    metered_store::describe();
    read_places::describe();
    store_upkeep::describe();
    remote::describe();
    model::observe::describe();
    model::record::describe();
    engines::describe();
}

/// Makes the metrics of events that haven't happened yet, so that a scrape has each of them from
/// the start, with the value 0.
pub(crate) fn register(models: &Models) {
    const OF_MODELS: [&str; 6] = [
        "sluice_malformed_arguments_total",
        "sluice_dropped_calls_total",
        "sluice_truncated_messages_total",
        "sluice_stream_violations_total",
        "sluice_slow_readers_total",
        "sluice_probes_total",
    ];
    for model in models {
        for name in OF_MODELS {
            let _ = metrics::counter!(name, "model_name" => model.label());
        }
        let parser = model.parsers().serving.name;
        for name in ["sluice_parser_faults_total", "sluice_parser_calls_total"] {
            let _ = metrics::counter!(name, "model_name" => model.label(), "parser" => parser.clone());
        }
        let _ =
            metrics::histogram!("sluice_parsing_seconds", "model_name" => model.label(), "parser" => parser);
        for result in LoadResult::ALL {
            let _ = metrics::counter!("sluice_parser_reloads_total", "model_name" => model.label(), "result" => result.name());
        }
        let _ = metrics::gauge!("sluice_streams", "model_name" => model.label());
    }
    let _ = metrics::counter!("sluice_connections_refused_total");
    let _ = metrics::gauge!("sluice_websockets");
    for name in [EXPORTED, LOST] {
        let _ = metrics::counter!(name);
    }
    let budgets = [
        Overdrawn::Memory,
        Overdrawn::PrincipalMemory,
        Overdrawn::Request { most: 0 },
        Overdrawn::Cpu { retry_after: Duration::ZERO },
    ];
    for budget in budgets {
        let _ = metrics::counter!("sluice_overdrawn_total", "what" => budget.what());
    }
}
