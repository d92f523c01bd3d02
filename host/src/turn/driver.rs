//! Driver of one turn: feeds the text of tokens to the parser and makes the turn's events.
//!
//! Invariant: the same bytes give the same items however they are cut into pieces and steps, provided that the parser routes them
//! alike. Called by the task that owns a stream.

use super::event::TurnEnd;
use super::events::TurnEvents;
use super::flow::Flow;
use super::markers::{Found, Markers, TokenText};
use super::settings::TurnSettings;
use super::stream::{ByteCounts, Stream};
use super::tokens::TokenCounts;
use crate::parser::contract::{Fault, FinishReason, StreamParser};

/// A turn being generated. Calls come in this order: `replay` at most once, any number of `step`, `finish` once.
///
/// Events are appended to `out`. The caller drains it between calls or not at all: a call may add text to the last event in it.
#[derive(Debug)]
pub struct Turn {
    markers: Markers,
    stream: Stream,
}

impl Turn {
    /// Creates a turn. `parser` has been started for it.
    pub fn new(settings: TurnSettings, parser: Box<dyn StreamParser>) -> Self {
        Self { markers: Markers::new(settings.markers.clone()), stream: Stream::new(settings, parser) }
    }

    /// Feeds the generation prompt. Its bytes are discarded; only a tool call that it leaves open makes an event.
    pub fn replay(&mut self, pieces: &[TokenText<'_>], out: &mut TurnEvents) -> Flow {
        self.stream.begin_prompt();
        for piece in pieces {
            self.push(*piece, out);
        }
        self.stream.ask(out);
        self.stream.end_prompt(self.markers.taken(), out);
        self.stream.flow()
    }

    /// Feeds the tokens that the model wrote in one engine step.
    pub fn step(&mut self, pieces: &[TokenText<'_>], out: &mut TurnEvents) -> Flow {
        self.stream.begin_step(out);
        for piece in pieces {
            if piece.id.is_some() {
                self.stream.begin_token(self.markers.taken(), piece.logprobs);
            }
            self.push(*piece, out);
        }
        self.stream.ask(out);
        self.stream.end_step(out)
    }

    /// Ends the turn: all items are closed. `ended_by` is the token that ended it, which wasn't fed by `step`; if it is one of
    /// the markers, the parser is given it.
    pub fn finish(
        &mut self,
        reason: FinishReason,
        ended_by: Option<TokenText<'_>>,
        out: &mut TurnEvents,
    ) -> TurnEnd {
        let stream = &mut self.stream;
        stream.begin_step(out);
        self.markers.flush(&mut |found| stream.take(found, out));
        if let Some(index) = ended_by.and_then(|piece| self.markers.table().find(piece)) {
            stream.begin_token(self.markers.taken(), None);
            self.markers.marker(index, &mut |found| stream.take(found, out));
        }
        self.stream.ask(out);
        self.stream.finish(reason, self.markers.taken(), out)
    }

    /// The parser's fault, if it failed.
    pub fn fault(&self) -> Option<&Fault> {
        self.stream.fault()
    }

    /// Number of the completed calls so far whose arguments aren't JSON.
    pub fn malformed_calls(&self) -> u32 {
        self.stream.malformed_calls()
    }

    /// Number of the calls so far that were dropped because the model may not call tools.
    pub fn dropped_calls(&self) -> u32 {
        self.stream.dropped_calls()
    }

    /// Whether a call inside reasoning was held until it was decided: meanwhile the turn was silent.
    pub fn held_draft(&self) -> bool {
        self.stream.held_draft()
    }

    /// Counts of the tokens fed by `step` (pieces with an id) whose first byte is settled; after `finish`, counts of all of them,
    /// including the one that ended the turn if it was a marker.
    pub fn tokens(&self) -> TokenCounts {
        self.stream.tokens()
    }

    /// Counts of the bytes fed so far, by where they went.
    pub fn bytes(&self) -> ByteCounts {
        self.stream.bytes(self.markers.taken())
    }

    fn push(&mut self, piece: TokenText<'_>, out: &mut TurnEvents) {
        let stream = &mut self.stream;
        if self.markers.take_plain(piece) {
            return stream.take(Found::Text(piece.text), out);
        }
        self.markers.push(piece, &mut |found| stream.take(found, out));
    }
}
