//! Descriptions of the metrics, and the first values of those whose labels are more than the model.

use std::time::Duration;

use metrics::{counter, histogram};
use system::metric::Metric;

use crate::http::metrics::engines;
use crate::server_metrics::OVERDRAWN;
use crate::state::{read_places, store_upkeep};
use crate::{server_metrics, traces};
use accounts::Overdrawn;
use model::observe::metrics::{PARSER_CALLS, PARSER_FAULTS, PARSER_RELOADS, PARSING};
use model::{LoadResult, Models};

/// The metrics of all rooms.
const ROOMS: [&[Metric]; 9] = [
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

/// Tells the recorder what each metric is.
pub(crate) fn describe() {
    ROOMS.into_iter().flatten().for_each(|metric| metric.describe());
    model::record::register_metric();
}

/// Makes the metrics of events that haven't happened yet, so that a scrape has each of them from
/// the start, with the value 0.
pub(crate) fn register(models: &Models) {
    for model in models {
        let label = model.label();
        ROOMS.into_iter().flatten().for_each(|metric| metric.describe_for(&label));
        let parser = model.parsers().serving.name;
        for metric in [PARSER_FAULTS, PARSER_CALLS] {
            let _ = counter!(metric.name(), "model_name" => label.clone(), "parser" => parser.clone());
        }
        let _ = histogram!(PARSING.name(), "model_name" => label.clone(), "parser" => parser);
        for result in LoadResult::ALL {
            let result = result.name();
            let _ = counter!(PARSER_RELOADS.name(), "model_name" => label.clone(), "result" => result);
        }
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
