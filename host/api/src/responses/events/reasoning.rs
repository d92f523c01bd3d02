//! Events of reasoning, in both encodings: `reasoning_text` as content, `reasoning_summary_text` as
//! summary.

use schemars::JsonSchema;
use serde::Serialize;

use super::{At, Event};
use crate::schema::padded;

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(transform = padded)]
pub(in crate::responses) struct ReasoningDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    content_index: usize,
    delta: &'a str,
}

/// `response.reasoning_text.delta`.
pub(in crate::responses) fn reasoning_delta<'a>(
    at: At<'a>,
    content_index: usize,
    delta: &'a str,
) -> Event<ReasoningDelta<'a>> {
    let At { item_id, output_index } = at;
    let body = ReasoningDelta { item_id, output_index, content_index, delta };
    Event { kind: "response.reasoning_text.delta", body }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct ReasoningDone<'a> {
    #[serde(flatten)]
    at: At<'a>,
    content_index: usize,
    text: &'a str,
}

/// `response.reasoning_text.done`.
pub(in crate::responses) fn reasoning_done<'a>(
    at: At<'a>,
    content_index: usize,
    text: &'a str,
) -> Event<ReasoningDone<'a>> {
    Event { kind: "response.reasoning_text.done", body: ReasoningDone { at, content_index, text } }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct SummaryPart<'a, P> {
    #[serde(flatten)]
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
}

/// `response.reasoning_summary_part.added`.
pub(in crate::responses) fn summary_added<'a, P>(
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
) -> Event<SummaryPart<'a, P>> {
    Event { kind: "response.reasoning_summary_part.added", body: SummaryPart { at, summary_index, part } }
}

/// `response.reasoning_summary_part.done`.
pub(in crate::responses) fn summary_done<'a, P>(
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
) -> Event<SummaryPart<'a, P>> {
    Event { kind: "response.reasoning_summary_part.done", body: SummaryPart { at, summary_index, part } }
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(transform = padded)]
pub(in crate::responses) struct SummaryDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    summary_index: usize,
    delta: &'a str,
}

/// `response.reasoning_summary_text.delta`.
pub(in crate::responses) fn summary_text_delta<'a>(
    at: At<'a>,
    summary_index: usize,
    delta: &'a str,
) -> Event<SummaryDelta<'a>> {
    let At { item_id, output_index } = at;
    let body = SummaryDelta { item_id, output_index, summary_index, delta };
    Event { kind: "response.reasoning_summary_text.delta", body }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct SummaryDone<'a> {
    #[serde(flatten)]
    at: At<'a>,
    summary_index: usize,
    text: &'a str,
}

/// `response.reasoning_summary_text.done`.
pub(in crate::responses) fn summary_text_done<'a>(
    at: At<'a>,
    summary_index: usize,
    text: &'a str,
) -> Event<SummaryDone<'a>> {
    Event { kind: "response.reasoning_summary_text.done", body: SummaryDone { at, summary_index, text } }
}
