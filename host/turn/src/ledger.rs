//! Ledger of a turn's settled bytes: passes them to the items or to the dropped markup, and counts
//! bytes and tokens.
//!
//! Invariant: each byte is settled once: by `router` from the held bytes, or by `stream` directly
//! if no decision is needed.

use super::draft::{DraftCall, Readings};
use super::events::TurnEvents;
use super::items::{Items, OpenKind};
use super::step_error::StepError;
use super::tokens::Tokens;
use contract::Route;

/// Minimum number of dropped bytes that are kept; names are not found in older ones.
const REMEMBERED: usize = 16 << 10;
/// Number of bytes searched for undeclared names in one step after which no further search begins.
const SEARCHED: usize = 4 << 20;

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
    /// Whether the events tell where each byte went.
    pub(super) shows_routes: bool,
    /// Markup dropped inside reasoning whose route isn't told yet: behind it a call may open, which
    /// may turn out to be reasoning. An end of `dropped_markup`.
    untold: String,
    routed: u64,
    dropped: u64,
}

impl Ledger {
    pub(super) fn new(items: Items, shows_routes: bool) -> Self {
        Self {
            items,
            tokens: Tokens::default(),
            dropped_markup: Dropped::default(),
            last: None,
            in_reasoning: false,
            held_draft: false,
            draft: None,
            shows_routes,
            untold: String::new(),
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
        self.show_route(route, text, out);
        self.items.route(route, text, &mut self.tokens.content, out)?;
        match &mut self.draft {
            Some(draft) => draft.push(route, text),
            None => Ok(()),
        }
    }

    /// Drops text without counting it as a call's markup.
    pub(super) fn discard(&mut self, text: &str, out: &mut TurnEvents) {
        let from = self.settled();
        self.dropped += text.len() as u64;
        self.tokens.routed(from, self.settled(), Route::Drop);
        self.show_route(Route::Drop, text, out);
    }

    /// Tells where text of the output went, if that is asked for.
    #[inline]
    fn show_route(&mut self, route: Route, text: &str, out: &mut TurnEvents) {
        if self.shows_routes && self.items.is_visible() && !text.is_empty() {
            self.tell_route(route, text, out);
        }
    }

    #[cold]
    fn tell_route(&mut self, route: Route, text: &str, out: &mut TurnEvents) {
        if route == Route::Drop && self.in_reasoning && self.draft.is_none() {
            self.untold.push_str(text);
            let old = self.untold.len().saturating_sub(self.dropped_markup.text().len());
            let old: String = self.untold.drain(..old).collect();
            out.routed(Route::Drop, &old);
        } else {
            self.tell_dropped(out);
            out.routed(route, text);
        }
    }

    /// Tells that the markup before was dropped, since no call can follow that may be reasoning.
    pub(super) fn tell_dropped(&mut self, out: &mut TurnEvents) {
        out.routed(Route::Drop, &std::mem::take(&mut self.untold));
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
            let text = self.dropped_markup.text().to_owned();
            self.draft = Some(Box::new(DraftCall {
                items: self.items.state(),
                counts: self.tokens.by_route(),
                told: text.len().saturating_sub(self.untold.len()),
                text,
                shown: 0,
                bound,
                other: std::mem::take(out),
                readings: None,
            }));
            self.tell_dropped(out);
        }
    }

    /// Whether reasoning is open, or a call inside of it.
    pub(super) fn is_reasoning(&self) -> bool {
        let is_drafting = self.draft.as_ref().is_some_and(|draft| draft.readings.is_none());
        is_drafting || self.items.kind() == OpenKind::Reasoning
    }

    /// Ends the draft's reasoning, if there is a draft, at a marker of `marker` bytes that were
    /// perhaps dropped already.
    pub(super) fn end_draft(&mut self, marker: usize, out: &mut TurnEvents) -> Result<(), StepError> {
        let Some(draft) = self.draft.as_mut().filter(|draft| draft.readings.is_none()) else { return Ok(()) };
        self.items.close(false, out)?;
        let called = self.items.state();
        self.items.restore(draft.items.clone());
        let (text, told) = (std::mem::take(&mut draft.text), draft.told);
        let is_dropped = text.len() - draft.shown >= marker;
        let (text, marker) = text.split_at(if is_dropped { text.len() - marker } else { text.len() });
        let mut reasoning = TurnEvents::default();
        if self.shows_routes {
            reasoning.routed(Route::Reasoning, text.get(told..).unwrap_or_default());
        }
        self.items.route(Route::Reasoning, text, &mut Vec::new(), &mut reasoning)?;
        if self.shows_routes {
            reasoning.routed(Route::Drop, marker);
        }
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
        let is_last = by_itself && out.say_nothing();
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
            Some(draft) if draft.readings.is_some() && !out.say_nothing() => self.resolve_draft(true, out),
            Some(draft) => std::mem::swap(out, &mut draft.other),
            None => {}
        }
    }
}

/// Markup dropped since text was last shown, in which a tool call's name may stand. Its size bounds
/// the call's derived text.
///
/// Rule of the name check: a tool's name is declared by the request, or it occurs in the stream
/// between the end of the last run that wasn't dropped (or the opening of the last call) and the
/// newest byte held when the call opens. Held bytes count because a parser may open a call first
/// and drop its header afterwards. Either way the model wrote the name, in text that nobody has
/// been shown. `router` checks names.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    text: String,
    bytes: u64,
    searched: usize,
}

impl Dropped {
    /// Begins a new step, which has its own bound on searches.
    pub(super) fn begin_step(&mut self) {
        self.searched = 0;
    }

    /// Appends dropped text.
    pub(super) fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.text.push_str(text);
        if self.text.len() > 2 * REMEMBERED {
            let old = self.text.floor_char_boundary(self.text.len() - REMEMBERED);
            self.text.drain(..old);
        }
    }

    /// Forgets the markup: text was shown or a call opened, so that it doesn't belong to the next
    /// call.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.bytes = 0;
    }

    /// The markup, as far as it is kept.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Number of bytes dropped, including those that are no longer kept.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether `name` occurs in the dropped bytes followed by the `held` ones.
    pub(super) fn contains_name(&mut self, name: &str, held: &str) -> Result<bool, StepError> {
        if self.searched > SEARCHED {
            return Err(StepError::NameSearch);
        }
        self.searched += self.text.len() + held.len();
        Ok(self.text.contains(name)
            || held.contains(name)
            || self.around_border(name.len(), held).contains(name))
    }

    /// Text around the border of dropped and held bytes, as far as a name of `length` bytes can
    /// reach across it.
    fn around_border(&self, length: usize, held: &str) -> String {
        let start = self.text.ceil_char_boundary(self.text.len().saturating_sub(length - 1));
        let end = held.floor_char_boundary(length - 1);
        [&self.text[start..], &held[..end]].concat()
    }
}
