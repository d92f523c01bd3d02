//! The item that the model is writing, and its events from `added` to `done`. The item's text grows
//! only by the deltas that are sent, so deltas and finished item can't differ.

use super::events::{self, At, CommandAt, SequenceNumbers};
use super::items::{Item, OutputText, ReasoningText, Status, SummaryText, TokenLogprob};
use super::typed::items::TypedItem;
use crate::event_buffer::EventBuffer;
use crate::obfuscation::encoded_len;

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
    pub(super) buffer: &'a mut EventBuffer,
}

impl OpenItem {
    /// Announces `item`, which has no text yet, and its part, if items of its kind have parts.
    pub(super) fn begin(item: Item, index: usize, out: EventSink<'_>) -> Self {
        let mut written = Self { item, index };
        let EventSink { sequence, buffer } = out;
        sequence.send(events::item_added(index, &written.item), buffer);
        let output_index = index;
        match &mut written.item {
            Item::Message { id, content, .. } => {
                content.push(OutputText::default());
                let at = At { item_id: id, output_index };
                sequence.send(events::part_added(at, FIRST, &content[FIRST]), buffer);
            }
            Item::Reasoning { id, content: Some(content), .. } => {
                content.push(ReasoningText::default());
                let at = At { item_id: id, output_index };
                sequence.send(events::part_added(at, FIRST, &content[FIRST]), buffer);
            }
            Item::Reasoning { id, summary, content: None, .. } => {
                summary.push(SummaryText::default());
                let at = At { item_id: id, output_index };
                sequence.send(events::summary_added(at, FIRST, &summary[FIRST]), buffer);
            }
            Item::FunctionCall { .. }
            | Item::CustomToolCall { .. }
            | Item::Compaction { .. }
            | Item::Hosted(_)
            | Item::Typed(_) => {}
        }
        written
    }

    /// An item that was announced earlier, with its text so far; none if its part wasn't announced,
    /// too.
    pub(super) fn announced(item: Item, index: usize) -> Option<Self> {
        let has_part = match &item {
            Item::Message { content, .. } => !content.is_empty(),
            Item::Reasoning { content: Some(content), .. } => !content.is_empty(),
            Item::Reasoning { summary, .. } => !summary.is_empty(),
            _ => true,
        };
        has_part.then_some(Self { item, index })
    }

    /// Whether it is the model's reasoning.
    pub(super) fn is_reasoning(&self) -> bool {
        matches!(self.item, Item::Reasoning { .. })
    }

    /// Appends `delta` and sends it. `logprobs` are sent and kept if the item is a message.
    pub(super) fn text(
        &mut self,
        delta: &str,
        logprobs: Vec<TokenLogprob>,
        padded: bool,
        out: EventSink<'_>,
    ) {
        self.append(delta);
        let secret = padded.then(|| encoded_len(delta) + encoded_bytes(&logprobs));
        let at = At { item_id: self.item.id(), output_index: self.index };
        let EventSink { sequence, buffer } = out;
        match &self.item {
            Item::Message { .. } => {
                sequence.send_delta(events::text_delta(at, FIRST, delta, &logprobs), secret, buffer);
            }
            Item::Reasoning { content: Some(_), .. } => {
                sequence.send_delta(events::reasoning_delta(at, FIRST, delta), secret, buffer);
            }
            Item::Reasoning { content: None, .. } => {
                sequence.send_delta(events::summary_text_delta(at, FIRST, delta), secret, buffer);
            }
            Item::FunctionCall { .. } => {
                sequence.send_delta(events::arguments_delta(at, delta), secret, buffer);
            }
            Item::CustomToolCall { .. } => {
                sequence.send_delta(events::input_delta(at, delta), secret, buffer);
            }
            // `hosted` sends these events, a summary has none, and `commands` sends a shell's.
            Item::Hosted(_) | Item::Compaction { .. } | Item::Typed(_) => {}
        }
        if let Item::Message { content, .. } = &mut self.item {
            content[FIRST].logprobs.extend(logprobs);
        }
    }

    /// Writes the commands of a shell's call into its item, one behind the other.
    pub(super) fn commands(&mut self, commands: Vec<String>, padded: bool, out: EventSink<'_>) {
        let EventSink { sequence, buffer } = out;
        let Item::Typed(TypedItem::ShellCall { action, .. }) = &mut self.item else { return };
        for command in commands {
            let at = CommandAt { output_index: self.index, command_index: action.commands.len() };
            let secret = padded.then(|| encoded_len(&command));
            sequence.send(events::command_added(at), buffer);
            sequence.send_delta(events::command_delta(at, &command), secret, buffer);
            sequence.send(events::command_done(at, &command), buffer);
            action.commands.push(command);
        }
    }

    /// Sends that the summary has grown which the item, a compaction, will hold.
    pub(super) fn compacting(&self, out: EventSink<'_>) {
        let at = At { item_id: self.item.id(), output_index: self.index };
        let EventSink { sequence, buffer } = out;
        sequence.send(events::compacting(at), buffer);
    }

    /// Sends the item's last events and returns the finished item. Reasoning and compactions hold
    /// the `encrypted` text.
    pub(super) fn end(mut self, status: Status, encrypted: Option<String>, out: EventSink<'_>) -> Item {
        let EventSink { sequence, buffer } = out;
        end_texts(&self.item, self.index, sequence, buffer);
        self.item.set_status(status);
        match &mut self.item {
            Item::Reasoning { encrypted_content, .. } => *encrypted_content = encrypted,
            Item::Compaction { encrypted_content, .. } => *encrypted_content = encrypted.unwrap_or_default(),
            _ => {}
        }
        sequence.send(events::item_done(self.index, &self.item), buffer);
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
            Item::Compaction { .. } | Item::Hosted(_) | Item::Typed(_) => return,
        };
        text.push_str(delta);
    }
}

/// Sends the `done` events of the item's text and part.
fn end_texts(item: &Item, output_index: usize, sequence: &mut SequenceNumbers, buffer: &mut EventBuffer) {
    let at = At { item_id: item.id(), output_index };
    match item {
        Item::Message { content, .. } => {
            let part = &content[FIRST];
            sequence.send(events::text_done(at, FIRST, &part.text, &part.logprobs), buffer);
            sequence.send(events::part_done(at, FIRST, part), buffer);
        }
        Item::Reasoning { content: Some(content), .. } => {
            let part = &content[FIRST];
            sequence.send(events::reasoning_done(at, FIRST, &part.text), buffer);
            sequence.send(events::part_done(at, FIRST, part), buffer);
        }
        Item::Reasoning { summary, .. } => {
            let part = &summary[FIRST];
            sequence.send(events::summary_text_done(at, FIRST, &part.text), buffer);
            sequence.send(events::summary_done(at, FIRST, part), buffer);
        }
        Item::FunctionCall { name, arguments, .. } => {
            sequence.send(events::arguments_done(at, name, arguments), buffer);
        }
        Item::CustomToolCall { input, .. } => sequence.send(events::input_done(at, input), buffer),
        Item::Compaction { .. } | Item::Hosted(_) | Item::Typed(_) => {}
    }
}

/// Length in bytes of `logprobs` in an event.
fn encoded_bytes(logprobs: &[TokenLogprob]) -> usize {
    if logprobs.is_empty() {
        return 0;
    }
    serde_json::to_string(logprobs).expect("protocol types serialise").len()
}
