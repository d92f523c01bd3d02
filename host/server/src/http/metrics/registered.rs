//! Descriptions of the metrics, and their first values.

use std::time::Duration;

use metrics::{counter, gauge, histogram};
use system::metric::Metric;

use crate::http::metrics::engines;
use crate::server_metrics::{
    CONNECTIONS_REFUSED, LOG_LINES_LOST, OVERDRAWN, PROBES, SLOW_READERS, STREAM_VIOLATIONS, STREAMS,
    WEBSOCKETS,
};
use crate::state::{read_places, store_upkeep};
use crate::{server_metrics, traces};
use accounts::Overdrawn;
use model::observe::metrics::{
    DROPPED_CALLS, MALFORMED_ARGUMENTS, PARSER_CALLS, PARSER_FAULTS, PARSER_RELOADS, PARSING,
    TRUNCATED_MESSAGES,
};
use model::{LoadResult, Models};

/// Tells the recorder what each metric is.
pub(crate) fn describe() {
    let rooms: [&[Metric]; 9] = [
        server_metrics::METRICS,
        traces::METRICS,
        read_places::METRICS,
        store_upkeep::METRICS,
        engines::METRICS,
        store::METRICS,
        mcp::METRICS,
        remote::METRICS,
        model::observe::metrics::METRICS,
    ];
    for metric in rooms.into_iter().flatten() {
        metric.describe();
    }
    counter!(LOG_LINES_LOST.name()).increment(0);
    model::record::register_metric();
}

/// Makes the metrics of events that haven't happened yet, so that a scrape has each of them from
/// the start, with the value 0.
pub(crate) fn register(models: &Models) {
    const OF_MODELS: [Metric; 6] =
        [MALFORMED_ARGUMENTS, DROPPED_CALLS, TRUNCATED_MESSAGES, STREAM_VIOLATIONS, SLOW_READERS, PROBES];
    for model in models {
        for metric in OF_MODELS {
            let _ = counter!(metric.name(), "model_name" => model.label());
        }
        let parser = model.parsers().serving.name;
        for metric in [PARSER_FAULTS, PARSER_CALLS] {
            let _ = counter!(metric.name(), "model_name" => model.label(), "parser" => parser.clone());
        }
        let _ = histogram!(PARSING.name(), "model_name" => model.label(), "parser" => parser);
        for result in LoadResult::ALL {
            let result = result.name();
            let _ = counter!(PARSER_RELOADS.name(), "model_name" => model.label(), "result" => result);
        }
        let _ = gauge!(STREAMS.name(), "model_name" => model.label());
    }
    let _ = gauge!(WEBSOCKETS.name());
    for metric in traces::METRICS.iter().chain(&[CONNECTIONS_REFUSED]) {
        let _ = counter!(metric.name());
    }
    let budgets = [
        Overdrawn::Memory,
        Overdrawn::PrincipalMemory,
        Overdrawn::Request { most: 0 },
        Overdrawn::Cpu { retry_after: Duration::ZERO },
    ];
    for budget in budgets {
        let _ = counter!(OVERDRAWN.name(), "what" => budget.what());
    }
}
