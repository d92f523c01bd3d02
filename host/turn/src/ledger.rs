//! Ledger of a turn's settled bytes: passes them to the items or to the dropped markup, and counts
//! bytes and tokens.
//!
//! Invariant: each byte is settled once: by `router` from the held bytes, or by `stream` directly
//! if no decision is needed.

use super::draft::DraftCall;
use super::dropped::Dropped;
use super::events::TurnEvents;
use super::items::{Items, OpenKind};
use super::step_error::StepError;
use super::tokens::Tokens;
use contract::Route;

/// Settled bytes of one turn.
pub(super) struct Ledger {
    pub(super) items: Items,
    pub(super) tokens: Tokens,
    pub(super) dropped_markup: Dropped,
    /// Route of the last run; `None` before the first.
    pub(super) last: Option<Route>,
    /// Whether what the parser routes is inside reasoning, calls in it aside.
    pub(super) in_reasoning: bool,
    /// Whether a call inside reasoning was held.
    pub(super) held_draft: bool,
    /// Call inside reasoning that is undecided.
    pub(super) draft: Option<Box<DraftCall>>,
    routed: u64,
    dropped: u64,
}

impl Ledger {
    pub(super) fn new(items: Items) -> Self {
        Self {
            items,
            tokens: Tokens::default(),
            dropped_markup: Dropped::default(),
            last: None,
            in_reasoning: false,
            held_draft: false,
            draft: None,
            routed: 0,
            dropped: 0,
        }
    }

    /// Numbers of bytes routed and bytes dropped.
    pub(super) fn routed_and_dropped(&self) -> (u64, u64) {
        (self.routed, self.dropped)
    }

    /// Number of the stream's bytes that are settled.
    pub(super) fn settled(&self) -> u64 {
        self.routed + self.dropped
    }

    /// Whether the last byte settled left a string of the open call's JSON open.
    pub(super) fn string_is_open(&mut self) -> bool {
        match self.last {
            Some(Route::ArgumentsUnescaped) => self.items.kind() == OpenKind::Call,
            Some(Route::Arguments) => self.items.string_is_open(),
            _ => false,
        }
    }

    /// Settles the next bytes of the stream.
    #[inline]
    pub(super) fn settle(&mut self, route: Route, text: &str, out: &mut TurnEvents) -> Result<(), StepError> {
        self.last = Some(route);
        let from = self.settled();
        if route == Route::Drop {
            self.dropped += text.len() as u64;
            self.dropped_markup.push(text);
        } else {
            self.routed += text.len() as u64;
            if !text.is_empty() {
                self.dropped_markup.clear();
            }
        }
        self.tokens.routed(from, self.settled(), route);
        self.items.route(route, text, &mut self.tokens.content, out)?;
        match &mut self.draft {
            Some(draft) => draft.push(route, text),
            None => Ok(()),
        }
    }

    /// Drops bytes without counting them as a call's markup.
    pub(super) fn discard(&mut self, bytes: usize) {
        let from = self.settled();
        self.dropped += bytes as u64;
        self.tokens.routed(from, self.settled(), Route::Drop);
    }
}
