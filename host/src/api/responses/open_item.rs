//! The item that the model is writing, and its events from `added` to `done`. The item's text grows only by the deltas that are sent, so
//! deltas and finished item can't differ.

use super::super::frames::Frames;
use super::super::obfuscation::{Obfuscation, encoded_len};
use super::events::{self, At, SequenceNumbers, TextDelta};
use super::items::{Item, OutputText, ReasoningText, Status, SummaryText, TokenLogprob};

/// Index of the only part of an item.
const FIRST: usize = 0;

/// An open item.
#[derive(Debug)]
pub(super) struct OpenItem {
    item: Item,
    /// The item's index in the output.
    index: usize,
}

/// Destination of events.
#[derive(Debug)]
pub(super) struct EventSink<'a> {
    pub(super) sequence: &'a mut SequenceNumbers,
    pub(super) frames: &'a mut Frames,
}

impl OpenItem {
    /// Announces `item`, which has no text yet, and its part, if items of its kind have parts.
    pub(super) fn begin(item: Item, index: usize, out: EventSink<'_>) -> Self {
        let mut written = Self { item, index };
        let EventSink { sequence, frames } = out;
        sequence.send(events::item_added(index, &written.item), frames);
        let output_index = index;
        match &mut written.item {
            Item::Message { id, content, .. } => {
                content.push(OutputText::default());
                let at = At { item_id: id, output_index };
                sequence.send(events::part_added(at, FIRST, &content[FIRST]), frames);
            }
            Item::Reasoning { id, content: Some(content), .. } => {
                content.push(ReasoningText::default());
                let at = At { item_id: id, output_index };
                sequence.send(events::part_added(at, FIRST, &content[FIRST]), frames);
            }
            Item::Reasoning { id, summary, content: None, .. } => {
                summary.push(SummaryText::default());
                let at = At { item_id: id, output_index };
                sequence.send(events::summary_added(at, FIRST, &summary[FIRST]), frames);
            }
            Item::FunctionCall { .. } | Item::CustomToolCall { .. } | Item::Hosted(_) => {}
        }
        written
    }

    /// Appends `delta` and sends it. `logprobs` are sent and kept if the item is a message.
    pub(super) fn text(
        &mut self,
        delta: &str,
        logprobs: Vec<TokenLogprob>,
        obfuscation: Option<&mut Obfuscation>,
        out: EventSink<'_>,
    ) {
        self.append(delta);
        let secret = || encoded_len(delta) + encoded_bytes(&logprobs);
        let obfuscation = obfuscation.map(|padding| padding.pad(secret()));
        let text_delta = TextDelta { delta, obfuscation };
        let at = At { item_id: self.item.id(), output_index: self.index };
        let EventSink { sequence, frames } = out;
        match &self.item {
            Item::Message { .. } => {
                sequence.send(events::text_delta(at, FIRST, text_delta, &logprobs), frames);
            }
            Item::Reasoning { content: Some(_), .. } => {
                sequence.send(events::reasoning_delta(at, FIRST, text_delta), frames);
            }
            Item::Reasoning { content: None, .. } => {
                sequence.send(events::summary_text_delta(at, FIRST, text_delta), frames);
            }
            Item::FunctionCall { .. } => sequence.send(events::arguments_delta(at, text_delta), frames),
            Item::CustomToolCall { .. } => sequence.send(events::input_delta(at, text_delta), frames),
            // `hosted` sends these events.
            Item::Hosted(_) => {}
        }
        if let Item::Message { content, .. } = &mut self.item {
            content[FIRST].logprobs.extend(logprobs);
        }
    }

    /// Sends the item's last events and returns the finished item.
    pub(super) fn end(mut self, status: Status, encrypted: Option<String>, out: EventSink<'_>) -> Item {
        let EventSink { sequence, frames } = out;
        end_texts(&self.item, self.index, sequence, frames);
        self.item.set_status(status);
        if let Item::Reasoning { encrypted_content, .. } = &mut self.item {
            *encrypted_content = encrypted;
        }
        sequence.send(events::item_done(self.index, &self.item), frames);
        self.item
    }

    /// The text of the item, if it is reasoning.
    pub(super) fn reasoning(&self) -> Option<&str> {
        match &self.item {
            Item::Reasoning { content: Some(content), .. } => Some(&content[FIRST].text),
            Item::Reasoning { summary, .. } => Some(&summary[FIRST].text),
            _ => None,
        }
    }

    fn append(&mut self, delta: &str) {
        let text = match &mut self.item {
            Item::Message { content, .. } => &mut content[FIRST].text,
            Item::Reasoning { content: Some(content), .. } => &mut content[FIRST].text,
            Item::Reasoning { summary, .. } => &mut summary[FIRST].text,
            Item::FunctionCall { arguments, .. } => arguments,
            Item::CustomToolCall { input, .. } => input,
            Item::Hosted(_) => return,
        };
        text.push_str(delta);
    }
}

/// Sends the `done` events of the item's text and part.
fn end_texts(item: &Item, output_index: usize, sequence: &mut SequenceNumbers, frames: &mut Frames) {
    let at = At { item_id: item.id(), output_index };
    match item {
        Item::Message { content, .. } => {
            let part = &content[FIRST];
            sequence.send(events::text_done(at, FIRST, &part.text, &part.logprobs), frames);
            sequence.send(events::part_done(at, FIRST, part), frames);
        }
        Item::Reasoning { content: Some(content), .. } => {
            let part = &content[FIRST];
            sequence.send(events::reasoning_done(at, FIRST, &part.text), frames);
            sequence.send(events::part_done(at, FIRST, part), frames);
        }
        Item::Reasoning { summary, .. } => {
            let part = &summary[FIRST];
            sequence.send(events::summary_text_done(at, FIRST, &part.text), frames);
            sequence.send(events::summary_done(at, FIRST, part), frames);
        }
        Item::FunctionCall { name, arguments, .. } => {
            sequence.send(events::arguments_done(at, name, arguments), frames);
        }
        Item::CustomToolCall { input, .. } => sequence.send(events::input_done(at, input), frames),
        Item::Hosted(_) => {}
    }
}

/// Length in bytes of `logprobs` in an event.
fn encoded_bytes(logprobs: &[TokenLogprob]) -> usize {
    if logprobs.is_empty() {
        return 0;
    }
    serde_json::to_string(logprobs).expect("protocol types serialise").len()
}
