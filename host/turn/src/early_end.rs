//! Ends of a turn that the model knows nothing of: a stop string, or the end of the only call that
//! the request allows.
//!
//! Invariant: nothing behind such an end is shown, however the stream was cut into steps. `driver`
//! feeds it.

use super::event::{ItemStatus, TurnEnd};
use super::events::TurnEvents;
use super::markers::TokenText;
use super::one_call::OneCall;
use super::settings::AllowedCalls;
use super::stop::StopStrings;

/// Filter of a turn's events that may end it early.
#[derive(Debug)]
pub(super) struct EarlyEnd {
    /// Whether nothing ends the turn early.
    is_idle: bool,
    stop: StopStrings,
    one_call: OneCall,
    has_come: bool,
    /// Whether a call was cut off before the early end, so that the turn isn't complete.
    call_cut_off: bool,
    /// Number of tokens so far.
    tokens: u32,
    /// Events that are not yet filtered.
    unfiltered: TurnEvents,
}

impl EarlyEnd {
    pub(super) fn new(stop: StopStrings, calls: AllowedCalls) -> Self {
        let one_call = OneCall::new(calls != AllowedCalls::One);
        Self {
            is_idle: stop.is_idle() && one_call.is_idle(),
            stop,
            one_call,
            has_come: false,
            call_cut_off: false,
            tokens: 0,
            unfiltered: TurnEvents::default(),
        }
    }

    /// Whether nothing ends the turn early.
    pub(super) fn is_idle(&self) -> bool {
        self.is_idle
    }

    pub(super) fn has_come(&self) -> bool {
        self.has_come
    }

    /// The stop string that came, if one has.
    pub(super) fn stop_string(&self) -> Option<&str> {
        self.stop.found()
    }

    /// Buffer for the next events: `out` itself, if they need no filter.
    pub(super) fn buffer<'a>(&'a mut self, out: &'a mut TurnEvents) -> &'a mut TurnEvents {
        if self.is_idle { out } else { &mut self.unfiltered }
    }

    /// Counts the tokens, before their events come.
    pub(super) fn count(&mut self, pieces: &[TokenText<'_>]) {
        if self.is_idle {
            return;
        }
        let tokens = pieces.iter().filter(|piece| piece.id.is_some()).count();
        self.tokens = self.tokens.saturating_add(u32::try_from(tokens).unwrap_or(u32::MAX));
        self.stop.counted(self.tokens);
    }

    /// Moves the events up to the early end to `out`, and drops those behind it.
    pub(super) fn filter(&mut self, out: &mut TurnEvents) {
        if self.is_idle {
            return;
        }
        for event in self.unfiltered.drain() {
            if self.has_come {
                continue;
            }
            let ended = self.one_call.ended(&event);
            self.call_cut_off |= ended == Some(ItemStatus::Incomplete);
            self.has_come = self.stop.filter(event, out) || (ended.is_some() && !self.one_call.is_idle());
        }
    }

    /// How the turn ended, where the rest of it ended as `end`. What came behind the early end was
    /// never shown, so its failure doesn't count.
    pub(super) fn end(&self, end: TurnEnd) -> TurnEnd {
        if self.has_come && !self.call_cut_off { TurnEnd::Completed } else { end }
    }
}
