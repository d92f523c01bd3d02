//! The event of a compaction under way.

use schemars::JsonSchema;
use serde::Serialize;

use super::{At, Event};

#[derive(Debug, JsonSchema, Serialize)]
pub(in super::super) struct Compacting<'a> {
    #[serde(flatten)]
    at: At<'a>,
}

/// `response.compaction.compacting`: the summary has grown. It has none of the text.
pub(in super::super) fn compacting(at: At<'_>) -> Event<Compacting<'_>> {
    Event { kind: "response.compaction.compacting", body: Compacting { at } }
}
