//! Driver of one turn: feeds the text of tokens to the parser and makes the turn's events.
//!
//! Invariant: the same bytes give the same items however they are cut into pieces and steps,
//! provided that the parser routes them alike. Called by the task that owns a stream.

use std::sync::Arc;

use super::binding::Binding;
use super::early_end::EarlyEnd;
use super::event::{Flow, TurnEnd};
use super::events::TurnEvents;
use super::markers::{Found, Markers, TokenText};
use super::settings::TurnSettings;
use super::stream::{ByteCounts, Stream};
use super::tokens::TokenCounts;
use contract::{Fault, FinishReason, SendParser, StreamParser};

/// A turn being generated. Calls come in this order: `replay` at most once, any number of `step`,
/// `finish` once.
///
/// Events are appended to `out`. The caller drains it between calls or not at all: a call may add
/// text to the last event in it.
#[derive(Debug)]
pub struct Turn<P = SendParser> {
    feed: Feed<P>,
    early: EarlyEnd,
}

/// The turn without its early ends.
#[derive(Debug)]
struct Feed<P> {
    parser: P,
    markers: Markers,
    stream: Stream,
}

impl<P: StreamParser> Turn<P> {
    /// Creates a turn. `parser` has been started for it.
    pub fn new(binding: &Arc<Binding>, parser: P, mut settings: TurnSettings) -> Self {
        let early = EarlyEnd::new(std::mem::take(&mut settings.stop), settings.calls);
        let markers = Markers::new(binding.markers.clone());
        Self { feed: Feed { parser, markers, stream: Stream::new(Arc::clone(binding), settings) }, early }
    }

    /// Feeds the generation prompt. Its bytes are discarded; only a tool call that it leaves open
    /// makes an event.
    pub fn replay(&mut self, pieces: &[TokenText<'_>], out: &mut TurnEvents) -> Flow {
        self.filtered(out, |feed, events| feed.replay(pieces, events))
    }

    /// Whether the turn may end before the model ends it: at a stop string, or after the only call
    /// that is allowed. Tokens behind that end are no part of it, so a caller that counts them
    /// feeds one in each step.
    pub fn may_end_early(&self) -> bool {
        !self.early.is_idle()
    }

    /// Feeds the tokens that the model wrote in one engine step. After [`Flow::Stop`] the caller
    /// ends the turn, as if the model had.
    pub fn step(&mut self, pieces: &[TokenText<'_>], out: &mut TurnEvents) -> Flow {
        self.early.count(pieces);
        self.filtered(out, |feed, events| feed.step(pieces, events))
    }

    /// Ends the turn: all items are closed. `ended_by` is the token that ended it, which wasn't fed
    /// by `step`; if it is one of the markers, the parser is given it.
    pub fn finish(
        &mut self,
        reason: FinishReason,
        ended_by: Option<TokenText<'_>>,
        out: &mut TurnEvents,
    ) -> TurnEnd {
        let end = self.feed.finish(reason, ended_by, self.early.buffer(out));
        self.early.filter(out);
        self.early.end(end)
    }

    /// The stop string that ended the turn, if one did.
    pub fn stop_string(&self) -> Option<&str> {
        self.early.stop_string()
    }

    /// The parser's fault, if it failed.
    pub fn fault(&self) -> Option<&Fault> {
        self.feed.stream.fault()
    }

    /// Number of times that the parser was called.
    pub fn parser_calls(&self) -> u64 {
        self.feed.stream.parser_calls()
    }

    /// Number of the completed calls so far whose arguments aren't JSON.
    pub fn malformed_calls(&self) -> u32 {
        self.feed.stream.malformed_calls()
    }

    /// Number of the calls so far that were dropped because the model may not call tools.
    pub fn dropped_calls(&self) -> u32 {
        self.feed.stream.dropped_calls()
    }

    /// Whether a call inside reasoning was held until it was decided: meanwhile the turn was
    /// silent.
    pub fn held_draft(&self) -> bool {
        self.feed.stream.held_draft()
    }

    /// Whether the turn is inside its reasoning, of which something was shown or held.
    pub fn is_reasoning(&self) -> bool {
        self.feed.stream.is_reasoning()
    }

    /// Counts of the tokens fed by `step` (pieces with an id) whose first byte is settled; after
    /// `finish`, counts of all of them, including the one that ended the turn if it was a marker.
    pub fn tokens(&self) -> TokenCounts {
        self.feed.stream.tokens()
    }

    /// Counts of the bytes fed so far, by where they went.
    pub fn bytes(&self) -> ByteCounts {
        self.feed.stream.bytes(self.feed.markers.taken())
    }

    /// Number of the last bytes fed that nobody has, since the parser's fault failed the turn; they
    /// count as dropped, too.
    pub fn unread_bytes(&self) -> u64 {
        self.feed.stream.unread()
    }

    /// Feeds, and shows the events up to an early end.
    fn filtered(
        &mut self,
        out: &mut TurnEvents,
        feed: impl FnOnce(&mut Feed<P>, &mut TurnEvents) -> Flow,
    ) -> Flow {
        let flow = feed(&mut self.feed, self.early.buffer(out));
        self.early.filter(out);
        if self.early.has_come() { Flow::Stop } else { flow }
    }
}

impl<P: StreamParser> Feed<P> {
    fn replay(&mut self, pieces: &[TokenText<'_>], out: &mut TurnEvents) -> Flow {
        self.stream.begin_prompt();
        for piece in pieces {
            self.push(*piece, out);
        }
        self.stream.ask(&mut self.parser, out);
        self.stream.end_prompt(self.markers.taken(), out);
        self.stream.flow()
    }

    fn step(&mut self, pieces: &[TokenText<'_>], out: &mut TurnEvents) -> Flow {
        self.stream.begin_step(out);
        for piece in pieces {
            if piece.id.is_some() {
                self.stream.begin_token(self.markers.taken(), piece.logprobs);
            }
            self.push(*piece, out);
        }
        self.stream.ask_at_end(&mut self.parser, out);
        self.stream.end_step(out)
    }

    fn finish(
        &mut self,
        reason: FinishReason,
        ended_by: Option<TokenText<'_>>,
        out: &mut TurnEvents,
    ) -> TurnEnd {
        let (parser, stream) = (&mut self.parser, &mut self.stream);
        stream.begin_step(out);
        self.markers.flush(&mut |found| stream.take(parser, found, out));
        if let Some(index) = ended_by.and_then(|piece| self.markers.table().find(piece)) {
            stream.begin_token(self.markers.taken(), None);
            self.markers.marker(index, &mut |found| stream.take(parser, found, out));
        }
        stream.ask(parser, out);
        stream.finish(parser, reason, self.markers.taken(), out)
    }

    fn push(&mut self, piece: TokenText<'_>, out: &mut TurnEvents) {
        let (parser, stream) = (&mut self.parser, &mut self.stream);
        if self.markers.take_plain(piece) {
            return stream.take(parser, Found::Text(piece.text), out);
        }
        self.markers.push(piece, &mut |found| stream.take(parser, found, out));
    }
}
