//! What of an answer goes into its record beside its inputs, which are recorded where they come.

use std::time::Duration;

use serde_json::{Map, Value};

use super::Answer;
use crate::answer::tap::Taps;
use api::event_buffer::EventBuffer;
use model::EndedTurn;
use model::record::line::{AnswerLine, Delivery, Line};
use model::record::word_of;

impl Answer {
    /// Records how the answer goes to its client.
    pub(crate) fn record_delivery(&self, delivery: Delivery) {
        if let Some(recorder) = self.context.recorder() {
            recorder.line(&Line::Answer(AnswerLine { delivery }));
        }
    }

    /// Records events, in the form in which they are compared.
    pub(crate) fn record_events(&self, events: &EventBuffer) {
        let (Some(recorder), Some(seal)) = (self.context.recorder(), &self.seal) else { return };
        if !events.is_empty() {
            let events: Vec<_> = events.iter().map(|(_, json)| seal.comparable(json)).collect();
            recorder.events(events.iter().map(AsRef::as_ref));
        }
    }

    /// Records an answer in one piece, and its end.
    pub(crate) fn record_body(&mut self, body: &str) {
        if let (Some(recorder), Some(seal)) = (self.context.recorder(), &self.seal) {
            recorder.events(std::iter::once(&*seal.comparable(body.as_bytes())));
        }
        self.record_end();
    }

    /// Records the end of a choice.
    pub(crate) fn record_choice(&mut self, ended: &EndedTurn) {
        self.ended.clone_from(&ended.end);
        if let Some(recorder) = self.context.recorder() {
            recorder.usage(ended.usage);
        }
        if let Some(tap) = &mut self.tap {
            tap.usage(ended.usage);
        }
    }

    /// Records the answer's end.
    pub(crate) fn record_end(&mut self) {
        self.context.record_end(&self.ended);
        if let Some(tap) = &mut self.tap {
            tap.end(word_of(&self.ended));
        }
    }

    /// Writes the lines of the answer's trace that led to so many events, which were in the answer's
    /// log after this time.
    pub(crate) fn trace_events(&mut self, count: usize, sent: Option<Duration>) {
        if let Some(tap) = &mut self.tap {
            tap.events(count, sent);
        }
    }

    /// Begins the answer's trace among `taps`, if its context has one. These `facts` are shown of it.
    #[must_use]
    pub(crate) fn traced(mut self, taps: Option<&Taps>, facts: impl FnOnce() -> Map<String, Value>) -> Self {
        let tap = taps.zip(self.context.trace().cloned());
        self.tap = tap.map(|(taps, trace)| Box::new(taps.begin(facts(), trace)));
        self
    }

    /// The buffer of events that nobody reads. If the answer is recorded, they are.
    pub(crate) fn unread_buffer(&self) -> EventBuffer {
        if self.context.recorder().is_some() { EventBuffer::new() } else { EventBuffer::discarding() }
    }
}
