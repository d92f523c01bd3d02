//! What of an answer goes into its record beside its inputs, which are recorded where they come.

use super::Answer;
use api::event_buffer::EventBuffer;
use model::EndedTurn;
use model::record::line::{AnswerLine, Delivery, Line};

impl Answer {
    /// Records how the answer goes to its client.
    pub(super) fn record_delivery(&self, delivery: Delivery) {
        if let Some(recorder) = self.context.recorder() {
            recorder.line(&Line::Answer(AnswerLine { delivery }));
        }
    }

    /// Records events, in the form in which they are compared.
    pub(super) fn record_events(&self, events: &EventBuffer) {
        let (Some(recorder), Some(seal)) = (self.context.recorder(), &self.seal) else { return };
        if !events.is_empty() {
            let events: Vec<_> = events.iter().map(|(_, json)| seal.comparable(json)).collect();
            recorder.events(events.iter().map(AsRef::as_ref));
        }
    }

    /// Records an answer in one piece, and its end.
    pub(super) fn record_body(&self, body: &str) {
        if let (Some(recorder), Some(seal)) = (self.context.recorder(), &self.seal) {
            recorder.events(std::iter::once(&*seal.comparable(body.as_bytes())));
        }
        self.record_end();
    }

    /// Records the end of a choice.
    pub(super) fn record_choice(&mut self, ended: &EndedTurn) {
        self.ended.clone_from(&ended.end);
        if let Some(recorder) = self.context.recorder() {
            recorder.usage(ended.usage);
        }
    }

    /// Records the answer's end.
    pub(super) fn record_end(&self) {
        self.context.record_end(&self.ended);
    }

    /// The buffer of events that nobody reads. If the answer is recorded, they are.
    pub(super) fn unread_buffer(&self) -> EventBuffer {
        if self.context.recorder().is_some() { EventBuffer::new() } else { EventBuffer::discarding() }
    }
}
