//! End of a stream: what the parser left open is closed, and the bytes are counted.

use super::Stream;
use crate::event::{ItemStatus, TurnEnd};
use crate::events::TurnEvents;
use crate::failure;
use contract::{FinishReason, Route, StreamParser};

impl Stream {
    /// Ends the turn, whose stream has `taken` bytes.
    pub(crate) fn finish(
        &mut self,
        parser: &mut dyn StreamParser,
        reason: FinishReason,
        taken: u64,
        out: &mut TurnEvents,
    ) -> TurnEnd {
        while self.undecided.is_some() {
            self.decide_marker(parser, false, out);
        }
        self.ask(parser, out);
        if self.fault.is_none() {
            self.parser_calls += 1;
            let answer = parser.finish(reason);
            self.apply(answer, out);
        }
        if self.failed.is_none() {
            self.end_call(out);
            self.route_held(Route::Content, out);
            let whole = reason == FinishReason::Stop;
            self.router
                .ledger
                .items
                .end(if whole { ItemStatus::Completed } else { ItemStatus::Incomplete }, out);
        }
        self.router.ledger.finish_draft(reason == FinishReason::Stop, out);
        self.router.ledger.tell_dropped(out);
        out.routed(Route::Drop, &self.aside_text);
        if self.failed.is_none() && reason == FinishReason::Stop {
            self.failed = self.router.ledger.items.calls().cut_off.clone();
        }
        self.router.ledger.tokens.finish();
        self.check_balance(taken);
        match (self.failed.clone(), reason) {
            (Some(failure), _) => TurnEnd::Failed(failure),
            (None, FinishReason::Stop) => TurnEnd::Completed,
            (None, FinishReason::Length) => TurnEnd::MaxOutputTokens,
            (None, FinishReason::Cancelled) => TurnEnd::Cancelled,
        }
    }

    /// Closes a call that is open at the end of the turn, whatever ended it. It is complete if its
    /// arguments are a whole JSON object.
    fn end_call(&mut self, out: &mut TurnEvents) {
        let Some(call) = self.router.ledger.items.open_call_mut() else { return };
        let whole = call.is_whole();
        self.router.ledger.items.end(if whole { ItemStatus::Completed } else { ItemStatus::Incomplete }, out);
    }

    /// Checks that each byte was settled once. Anything else is a fault of this server, and fails
    /// the turn.
    fn check_balance(&mut self, taken: u64) {
        let settled = self.router.ledger.settled() + self.aside;
        debug_assert_eq!(settled, taken, "every byte of a turn is routed, dropped or left aside");
        if settled != taken {
            self.failed = Some(failure::unbalanced());
        }
    }
}
