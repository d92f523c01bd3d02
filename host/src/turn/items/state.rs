//! State of a turn's items before a call inside reasoning, to which a draft of a call goes back.

use super::{Items, OpenItem};
use crate::turn::delta::Delta;
use crate::turn::event::TurnFailure;
use crate::turn::prose::Prose;

/// State of the items before a call inside reasoning: the open reasoning, if it has begun, and what the calls before it have to say about
/// how the turn ends.
#[derive(Debug, Clone)]
pub(in crate::turn) struct ItemsState {
    prose: Option<Prose>,
    white: Delta,
    pub(in crate::turn) cut_off: Option<TurnFailure>,
    pub(in crate::turn) malformed: u32,
}

impl Items {
    /// State of the items where no call is open.
    pub(in crate::turn) fn state(&self) -> ItemsState {
        let prose = if let Some(OpenItem::Prose(prose)) = &self.open { Some(*prose) } else { None };
        let (white, cut_off) = (self.white.clone(), self.cut_off.clone());
        ItemsState { prose, white, cut_off, malformed: self.malformed }
    }

    /// Goes back to an earlier state.
    pub(in crate::turn) fn restore(&mut self, state: ItemsState) {
        self.open = state.prose.map(OpenItem::Prose);
        self.white = state.white;
        (self.cut_off, self.malformed) = (state.cut_off, state.malformed);
    }

    /// Notes what earlier calls have to say about how the turn ends.
    pub(in crate::turn) fn blame(&mut self, cut_off: Option<TurnFailure>, malformed: u32) {
        self.cut_off = cut_off.or(self.cut_off.take());
        self.malformed = malformed;
    }
}
