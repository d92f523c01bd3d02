//! Events of a message's text. Deltas are sent once per token: their bodies are flat, since
//! `#[serde(flatten)]` costs a map each.

use schemars::JsonSchema;
use serde::Serialize;

use super::{At, Event};
use crate::responses::items::TokenLogprob;
use crate::schema::padded;

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(transform = padded)]
pub(in crate::responses) struct OutputTextDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    content_index: usize,
    delta: &'a str,
    logprobs: &'a [TokenLogprob],
}

/// `response.output_text.delta`; `logprobs` are of the tokens that begin in the delta, empty where
/// not asked for.
pub(in crate::responses) fn text_delta<'a>(
    at: At<'a>,
    content_index: usize,
    delta: &'a str,
    logprobs: &'a [TokenLogprob],
) -> Event<OutputTextDelta<'a>> {
    let At { item_id, output_index } = at;
    let body = OutputTextDelta { item_id, output_index, content_index, delta, logprobs };
    Event { kind: "response.output_text.delta", body }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct OutputTextDone<'a> {
    #[serde(flatten)]
    at: At<'a>,
    content_index: usize,
    text: &'a str,
    logprobs: &'a [TokenLogprob],
}

/// `response.output_text.done`; `logprobs` are of all tokens of the text.
pub(in crate::responses) fn text_done<'a>(
    at: At<'a>,
    content_index: usize,
    text: &'a str,
    logprobs: &'a [TokenLogprob],
) -> Event<OutputTextDone<'a>> {
    Event { kind: "response.output_text.done", body: OutputTextDone { at, content_index, text, logprobs } }
}
