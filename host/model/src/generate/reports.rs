//! Metrics and log lines of what went wrong in a turn without ending it.

use std::sync::Arc;

use crate::observe::metrics::{DROPPED_CALLS, MALFORMED_ARGUMENTS, PARSER_FAULTS};
use contract::Fault;

pub(super) fn report_fault(model: &Arc<str>, fault: &Fault) {
    let (label, parser) = (Arc::clone(model), fault.parser.to_string());
    metrics::counter!(PARSER_FAULTS.name(), "model_name" => label, "parser" => parser).increment(1);
    tracing::warn!(%model, parser = %fault.parser, reason = %fault.reason, "the parser failed");
}

/// Counts and logs complete calls whose arguments are no JSON. Protocols that can carry such
/// arguments pass them on. Names of tools are the client's words, or the model's, so no log has
/// them.
pub(super) fn report_malformed(model: &Arc<str>, calls: u32) {
    if calls > 0 {
        metrics::counter!(MALFORMED_ARGUMENTS.name(), "model_name" => Arc::clone(model))
            .increment(calls.into());
        tracing::warn!(%model, calls, "the model called tools with arguments that are no JSON");
    }
}

/// Counts and logs calls that the model wrote although the request forbids them.
pub(super) fn report_dropped(model: &Arc<str>, calls: u32) {
    if calls > 0 {
        metrics::counter!(DROPPED_CALLS.name(), "model_name" => Arc::clone(model)).increment(calls.into());
        tracing::warn!(%model, calls, "the model called tools although tool_choice is none: the calls were dropped");
    }
}
