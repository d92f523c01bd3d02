//! The event of a compaction under way.

use schemars::JsonSchema;
use serde::Serialize;

use super::{At, Event};

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct Compacting<'a> {
    #[serde(flatten)]
    at: At<'a>,
}

/// `response.compaction.compacting`: the summary has grown. It has none of the text.
pub(in crate::responses) fn compacting(at: At<'_>) -> Event<Compacting<'_>> {
    Event { kind: "response.compaction.compacting", body: Compacting { at } }
}
