//! Calls inside reasoning, which may be drafts of later calls: both would run, if both counted.
//!
//! The call waits. Where the reasoning ends by a `close` of its own and the turn goes on, what was
//! called stays reasoning; where the turn ends first, the call counts. A turn that the model ended
//! right behind the reasoning has nothing else to offer, so the call counts there, too.
//!
//! Invariant: while a draft is read, the turn's events go to a buffer of its own, and whoever
//! resolves it restores the caller's. The bytes that it holds are bounded like those that a parser
//! holds. `router` begins drafts, `stream` resolves them.

use super::events::TurnEvents;
use super::items::{Calls, ItemsState};
use super::step_error::StepError;
use super::tokens::RouteCounts;
use contract::Route;

/// A call inside reasoning that is still undecided, and all that followed it.
#[derive(Debug)]
pub(super) struct DraftCall {
    /// Items and token counts before the call.
    pub(super) items: ItemsState,
    pub(super) counts: RouteCounts,
    /// The stream's bytes from the markup before the call up to the reasoning's end.
    pub(super) text: String,
    /// Length of what `text` begins with whose route was told before the draft.
    pub(super) told: usize,
    /// Length of `text` up to its last byte that was not dropped.
    pub(super) shown: usize,
    /// Maximum length of `text`.
    pub(super) bound: usize,
    /// Within a step the caller's events, since the step writes the draft's; between steps the
    /// draft's.
    pub(super) other: TurnEvents,
    /// Both readings, once the reasoning has ended.
    pub(super) readings: Option<Readings>,
}

/// The two readings of a draft.
#[derive(Debug)]
pub(super) struct Readings {
    pub(super) call: TurnEvents,
    /// What the call's items have to say about how the turn ends.
    pub(super) calls: Calls,
    pub(super) reasoning: TurnEvents,
    pub(super) counts: RouteCounts,
}

impl DraftCall {
    /// Takes the next bytes of the stream, which were settled.
    pub(super) fn push(&mut self, route: Route, text: &str) -> Result<(), StepError> {
        if self.readings.is_some() {
            return Ok(());
        }
        self.text.push_str(text);
        if route != Route::Drop {
            self.shown = self.text.len();
        }
        if self.text.len() > self.bound { Err(StepError::HeldBytes(self.bound)) } else { Ok(()) }
    }
}
