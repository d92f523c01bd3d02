//! State of a turn's items before a call inside reasoning, to which a draft of a call goes back.

use super::{Items, OpenItem};
use crate::event::{Delta, TurnFailure};
use crate::prose::Prose;

/// What a turn's calls have to say about how it ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls {
    /// Failure for the first call that was cut off; the turn fails with it if the model ended the
    /// turn by itself.
    pub(crate) cut_off: Option<TurnFailure>,
    /// Number of the completed calls whose arguments aren't JSON.
    pub(crate) malformed: u32,
    /// Number of the calls that were dropped because the model may not call tools.
    pub(crate) dropped: u32,
}

/// State of the items before a call inside reasoning: the open reasoning, if it has begun, and the
/// calls before it.
#[derive(Debug, Clone)]
pub(crate) struct ItemsState {
    prose: Option<Prose>,
    white: Delta,
    pub(crate) calls: Calls,
}

impl Items {
    /// State of the items where no call is open.
    pub(crate) fn state(&self) -> ItemsState {
        let prose = if let Some(OpenItem::Prose(prose)) = &self.open { Some(*prose) } else { None };
        ItemsState { prose, white: self.white.clone(), calls: self.calls.clone() }
    }

    /// Goes back to an earlier state.
    pub(crate) fn restore(&mut self, state: ItemsState) {
        self.open = state.prose.map(OpenItem::Prose);
        (self.white, self.calls) = (state.white, state.calls);
    }

    /// Notes what earlier calls have to say about how the turn ends.
    pub(crate) fn blame(&mut self, calls: Calls) {
        let cut_off = calls.cut_off.or(self.calls.cut_off.take());
        self.calls = Calls { cut_off, ..calls };
    }
}
