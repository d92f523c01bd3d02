//! Calls inside reasoning, as a host holds them: drafts if the reasoning ends by itself and more follows, else calls. `Items` keeps one.

use super::Item;
use super::items::{Items, OpenItem};
use crate::Route;

/// A call inside reasoning that is undecided.
#[derive(Debug)]
pub(super) struct DraftCall {
    /// Items before the call, the open reasoning last.
    done: Vec<Item>,
    open: Option<OpenItem>,
    /// Text from the markup before the call up to the end of the reasoning, and its length up to the last byte that wasn't dropped.
    text: String,
    shown: usize,
    /// The items so far in both readings, once the reasoning has ended: with the call, and without.
    readings: Option<[Vec<Item>; 2]>,
}

impl DraftCall {
    pub(super) fn push(&mut self, route: Route, text: &str) {
        self.text.push_str(text);
        if route != Route::Drop {
            self.shown = self.text.len();
        }
    }
}

impl Items {
    fn is_prompt(&self) -> bool {
        self.in_prompt || self.prompt > 0
    }

    /// Notes where text goes, none perhaps.
    pub(super) fn note_route(&mut self, route: Route) {
        match route {
            Route::Reasoning if self.prose == Route::Content => {
                self.dropped.clear();
                self.prose = route;
            }
            Route::Content if self.prose == Route::Reasoning => {
                self.prose = route;
                self.resolve_draft(false);
            }
            _ => {}
        }
    }

    /// Notes that a call opens; to be called before the markup in front of it is forgotten.
    pub(super) fn begin_draft(&mut self) {
        if self.draft.as_ref().is_some_and(|draft| draft.readings.is_some()) {
            self.resolve_draft(true);
        }
        if self.prose == Route::Reasoning && self.draft.is_none() && !self.is_prompt() {
            let (done, open, text) = (self.done.clone(), self.open.clone(), self.dropped.clone());
            self.draft = Some(DraftCall { done, open, text, shown: 0, readings: None });
        }
    }

    /// Notes that the reasoning ends at the present marker.
    pub(super) fn end_draft(&mut self) {
        let Some(mut draft) = self.draft.take_if(|draft| draft.readings.is_none()) else { return };
        self.end(true);
        let called = std::mem::replace(&mut self.done, std::mem::take(&mut draft.done));
        self.open = draft.open.take();
        if draft.text.len() - draft.shown >= self.marker {
            draft.text.truncate(draft.text.len() - self.marker);
        }
        self.write(Route::Reasoning, draft.text.as_bytes());
        self.end(true);
        draft.readings = Some([called, std::mem::take(&mut self.done)]);
        self.draft = Some(draft);
    }

    /// Decides the draft, if there is one: it `is_reasoning`, or the call counts.
    pub(super) fn resolve_draft(&mut self, is_reasoning: bool) {
        let Some([call, reasoning]) = self.draft.take().and_then(|draft| draft.readings) else { return };
        let later = std::mem::replace(&mut self.done, if is_reasoning { reasoning } else { call });
        self.done.extend(later);
    }
}
