//! Leaf builders: each takes plain values and returns one typed event, with every field of its type
//! but `sequence_number`, which only [`SequenceNumbers`] sets. Texts are borrowed: an event lives
//! until it is encoded.
//!
//! Invariant: no type of the turn, parser, engine or model room appears in here or in `items` and
//! `resource` (`tests/layers.rs` reads the sources). So any code with plain values can build any
//! event. This file has the events that all items share, each other file those of one kind.

mod commands;
mod of_items;
mod progress;

use schemars::JsonSchema;
use serde::Serialize;

use super::items::Item;
use super::resource::Resource;
use crate::event_buffer::EventBuffer;

pub(super) use commands::{CommandAt, command_added, command_delta, command_done};
pub(super) use of_items::{
    add_all, arguments_delta, arguments_done, code_delta, code_done, compacting, input_delta, input_done,
    mcp_arguments_delta, mcp_arguments_done, reasoning_delta, reasoning_done, summary_text_delta,
    summary_text_done, text_delta, text_done,
};
pub(super) use progress::{ItemProgress, progress};

/// An event without its sequence number.
#[derive(Debug)]
pub(super) struct Event<B> {
    kind: &'static str,
    body: B,
}

impl<B> Event<B> {
    /// The event's `type`.
    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }
}

/// Collector of the types of events.
pub(super) trait EventTypes {
    /// Adds the type of `event`; the event's values don't matter.
    fn add<B: JsonSchema>(&mut self, event: &Event<B>);
}

/// Counter of one stream's sequence numbers.
#[derive(Debug, Default)]
pub(super) struct SequenceNumbers(u64);

#[derive(JsonSchema, Serialize)]
struct Numbered<'a, B> {
    #[serde(rename = "type")]
    kind: &'static str,
    sequence_number: u64,
    #[serde(flatten)]
    body: &'a B,
}

impl SequenceNumbers {
    /// Numbers behind those of `sent` events.
    pub(super) fn after(sent: u64) -> Self {
        Self(sent)
    }

    /// Takes back the last event that was encoded.
    pub(super) fn take_back(&mut self, buffer: &mut EventBuffer) {
        self.0 = self.0.saturating_sub(1);
        buffer.take_back();
    }

    /// Encodes the event with the next number.
    pub(super) fn send<B: Serialize>(&mut self, event: Event<B>, buffer: &mut EventBuffer) {
        self.send_delta(event, None, buffer);
    }

    /// Encodes the event with the next number. If `secret` is given, readers pad the event as one
    /// with that many bytes of text.
    #[expect(clippy::needless_pass_by_value, reason = "an event is sent once")]
    pub(super) fn send_delta<B: Serialize>(
        &mut self,
        event: Event<B>,
        secret: Option<usize>,
        buffer: &mut EventBuffer,
    ) {
        let numbered = Numbered { kind: event.kind, sequence_number: self.0, body: &event.body };
        match secret {
            Some(secret) => buffer.push_padded(Some(event.kind), secret, &numbered),
            None => buffer.push(Some(event.kind), &numbered),
        }
        self.0 += 1;
    }
}

/// Where an item stands.
#[derive(Debug, Clone, Copy, Default, JsonSchema, Serialize)]
pub(super) struct At<'a> {
    /// Id of the item.
    pub(super) item_id: &'a str,
    /// Its place in the output.
    pub(super) output_index: usize,
}

#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Lifecycle<'a> {
    response: &'a Resource,
}

/// An event with the whole response. `kind` is `response.created`, `response.in_progress` or a
/// terminal event's type.
pub(super) fn response<'a>(kind: &'static str, response: &'a Resource) -> Event<Lifecycle<'a>> {
    Event { kind, body: Lifecycle { response } }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Error<'a> {
    code: &'a str,
    message: &'a str,
    param: Option<&'a str>,
}

/// `error`; `response.failed` must follow.
pub(super) fn error<'a>(code: &'a str, message: &'a str) -> Event<Error<'a>> {
    Event { kind: "error", body: Error { code, message, param: None } }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct OutputItem<'a> {
    output_index: usize,
    item: &'a Item,
}

/// `response.output_item.added`.
pub(super) fn item_added(output_index: usize, item: &Item) -> Event<OutputItem<'_>> {
    Event { kind: "response.output_item.added", body: OutputItem { output_index, item } }
}

/// `response.output_item.done`.
pub(super) fn item_done(output_index: usize, item: &Item) -> Event<OutputItem<'_>> {
    Event { kind: "response.output_item.done", body: OutputItem { output_index, item } }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ContentPart<'a, P> {
    #[serde(flatten)]
    at: At<'a>,
    content_index: usize,
    part: &'a P,
}

/// `response.content_part.added`.
pub(super) fn part_added<'a, P>(at: At<'a>, content_index: usize, part: &'a P) -> Event<ContentPart<'a, P>> {
    Event { kind: "response.content_part.added", body: ContentPart { at, content_index, part } }
}

/// `response.content_part.done`.
pub(super) fn part_done<'a, P>(at: At<'a>, content_index: usize, part: &'a P) -> Event<ContentPart<'a, P>> {
    Event { kind: "response.content_part.done", body: ContentPart { at, content_index, part } }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct SummaryPart<'a, P> {
    #[serde(flatten)]
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
}

/// `response.reasoning_summary_part.added`.
pub(super) fn summary_added<'a, P>(
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
) -> Event<SummaryPart<'a, P>> {
    Event { kind: "response.reasoning_summary_part.added", body: SummaryPart { at, summary_index, part } }
}

/// `response.reasoning_summary_part.done`.
pub(super) fn summary_done<'a, P>(
    at: At<'a>,
    summary_index: usize,
    part: &'a P,
) -> Event<SummaryPart<'a, P>> {
    Event { kind: "response.reasoning_summary_part.done", body: SummaryPart { at, summary_index, part } }
}
