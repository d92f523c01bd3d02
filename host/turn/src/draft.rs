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
use super::items::{Calls, ItemsState, OpenKind};
use super::ledger::Ledger;
use super::step_error::StepError;
use super::tokens::RouteCounts;
use contract::Route;

/// A call inside reasoning that is still undecided, and all that followed it.
#[derive(Debug)]
pub(super) struct DraftCall {
    /// Items and token counts before the call.
    items: ItemsState,
    counts: RouteCounts,
    /// The stream's bytes from the markup before the call up to the reasoning's end.
    text: String,
    /// Length of `text` up to its last byte that was not dropped.
    shown: usize,
    /// Maximum length of `text`.
    bound: usize,
    /// Within a step the caller's events, since the step writes the draft's; between steps the
    /// draft's.
    other: TurnEvents,
    /// Both readings, once the reasoning has ended.
    readings: Option<Readings>,
}

/// The two readings of a draft.
#[derive(Debug)]
struct Readings {
    call: TurnEvents,
    /// What the call's items have to say about how the turn ends.
    calls: Calls,
    reasoning: TurnEvents,
    counts: RouteCounts,
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

impl Ledger {
    /// Begins a draft if a call opens inside reasoning. To be called before the dropped markup is
    /// cleared.
    pub(super) fn begin_draft(&mut self, bound: usize, out: &mut TurnEvents) {
        if self.draft.as_ref().is_some_and(|draft| draft.readings.is_some()) {
            self.resolve_draft(true, out);
        }
        let is_inside = self.in_reasoning && self.items.is_visible() && self.items.kind() != OpenKind::Call;
        if is_inside && self.draft.is_none() {
            self.held_draft = true;
            self.draft = Some(Box::new(DraftCall {
                items: self.items.state(),
                counts: self.tokens.by_route(),
                text: self.dropped_markup.text().to_owned(),
                shown: 0,
                bound,
                other: std::mem::take(out),
                readings: None,
            }));
        }
    }

    /// Ends the draft's reasoning, if there is a draft, at a marker of `marker` bytes that were
    /// perhaps dropped already.
    pub(super) fn end_draft(&mut self, marker: usize, out: &mut TurnEvents) -> Result<(), StepError> {
        let Some(draft) = self.draft.as_mut().filter(|draft| draft.readings.is_none()) else { return Ok(()) };
        self.items.close(false, out)?;
        let called = self.items.state();
        self.items.restore(draft.items.clone());
        let mut text = std::mem::take(&mut draft.text);
        if text.len() - draft.shown >= marker {
            text.truncate(text.len() - marker);
        }
        let mut reasoning = TurnEvents::default();
        self.items.route(Route::Reasoning, &text, &mut Vec::new(), &mut reasoning)?;
        self.items.close(false, &mut reasoning)?;
        draft.readings = Some(Readings {
            call: std::mem::take(out),
            calls: called.calls,
            reasoning,
            counts: self.tokens.by_route(),
        });
        Ok(())
    }

    /// Decides the draft, if there is one: it `is_reasoning`, or the call counts. The call counts
    /// in any case if the reasoning hasn't ended.
    pub(super) fn resolve_draft(&mut self, is_reasoning: bool, out: &mut TurnEvents) {
        let Some(draft) = self.draft.take() else { return };
        let later = std::mem::replace(out, draft.other);
        if let Some(readings) = draft.readings {
            if is_reasoning {
                self.tokens.recount(&draft.counts, &readings.counts);
                out.extend(readings.reasoning);
            } else {
                self.items.blame(readings.calls);
                out.extend(readings.call);
            }
        }
        out.extend(later);
    }

    /// Counts the call of the draft, if there is one whose reasoning runs into content without an
    /// end of its own.
    pub(super) fn count_draft(&mut self, out: &mut TurnEvents) {
        if self.draft.as_ref().is_some_and(|draft| draft.readings.is_none()) {
            self.resolve_draft(false, out);
        }
    }

    /// Decides the draft at the end of a turn, which the model ended by itself or not.
    pub(super) fn finish_draft(&mut self, by_itself: bool, out: &mut TurnEvents) {
        let is_last = by_itself && out.is_empty();
        self.resolve_draft(!is_last, out);
    }

    /// Begins a step: its events are the draft's, if there is one.
    pub(super) fn begin_step(&mut self, out: &mut TurnEvents) {
        if let Some(draft) = &mut self.draft {
            std::mem::swap(out, &mut draft.other);
        }
    }

    /// Ends a step: the events that remain are the caller's.
    pub(super) fn end_step(&mut self, out: &mut TurnEvents) {
        match &mut self.draft {
            Some(draft) if draft.readings.is_some() && !out.is_empty() => self.resolve_draft(true, out),
            Some(draft) => std::mem::swap(out, &mut draft.other),
            None => {}
        }
    }
}
