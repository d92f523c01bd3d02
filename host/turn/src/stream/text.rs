//! Text of a stream: settled at once where its route is known, else held for the parser, which is
//! asked about a bounded part at a time.

use super::Stream;
use crate::events::TurnEvents;
use contract::{Route, StreamParser};

/// Maximum number of bytes that the parser is asked about at once. A call has limits of time and of
/// ops, so what it is asked is bounded, however much an engine sends in one step.
pub const ASKED_BYTES: usize = 1 << 10;

/// The parts of a text about which a parser is asked, one after the other.
pub fn asked_parts(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (part, rest) = text.split_at(text.floor_char_boundary(ASKED_BYTES));
        text = rest;
        (!part.is_empty()).then_some(part)
    })
}

impl Stream {
    /// Takes text. It waits for the end of the step or the next marker, unless its route is known
    /// already.
    #[inline]
    pub(crate) fn take_text(&mut self, parser: &mut dyn StreamParser, text: &str, out: &mut TurnEvents) {
        if text.len() > ASKED_BYTES {
            return self.take_long(parser, text, out);
        }
        if self.ended {
            // An engine that doesn't know the stop marker as a token writes on after it.
            self.aside += text.len() as u64;
            return;
        }
        if self.fault.is_some() {
            return self.router.held.push(text);
        }
        let Some((route, settled)) = self.router.bypass_held(text) else {
            if self.router.held.unseen().len() + text.len() > ASKED_BYTES {
                self.ask(parser, out);
            }
            return self.router.held.push(text);
        };
        if settled < text.len() {
            let (settled, rest) = text.split_at(settled);
            return self.settle_and_hold(route, settled, rest, out);
        }
        if let Err(error) = self.router.ledger.settle(route, text, out) {
            self.break_contract(error, out);
        }
    }

    /// Takes text of any length, and asks the parser about one part after the other.
    #[cold]
    fn take_long(&mut self, parser: &mut dyn StreamParser, text: &str, out: &mut TurnEvents) {
        for part in asked_parts(text) {
            self.take_text(parser, part, out);
            self.ask(parser, out);
        }
    }

    /// Settles `settled`, whose route is known, and holds `rest`, about which the parser is to be
    /// asked.
    fn settle_and_hold(&mut self, route: Route, settled: &str, rest: &str, out: &mut TurnEvents) {
        if !settled.is_empty()
            && let Err(error) = self.router.ledger.settle(route, settled, out)
        {
            self.break_contract(error, out);
        }
        self.router.end_preset();
        self.router.held.push(rest);
    }
}
