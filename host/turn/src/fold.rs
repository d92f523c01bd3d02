//! Folds a turn's events into whole items, and checks their grammar on the way. Called by tests, by
//! the tools that test parsers, and by `model::opening_state`.

use std::error::Error;
use std::fmt;

use super::event::{ItemHead, ItemStatus, TurnEvent};

/// A closed item with all its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedItem {
    /// Kind of the item and its fixed fields.
    pub head: ItemHead,
    /// All text of the item.
    pub text: String,
    /// How the item ended.
    pub status: ItemStatus,
}

/// Error of a sequence of events that isn't well-formed; the number is the event's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldError {
    /// An item opens inside another.
    Overlap(usize),
    /// Text or a close comes while no item is open.
    Outside(usize),
    /// A text event is empty.
    EmptyText(usize),
    /// The last item is never closed.
    Unclosed,
}

impl fmt::Display for FoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(at) => write!(f, "event {at}: an item opens while another is open"),
            Self::Outside(at) => write!(f, "event {at}: no item is open"),
            Self::EmptyText(at) => write!(f, "event {at}: empty text"),
            Self::Unclosed => f.write_str("the last item is never closed"),
        }
    }
}

impl Error for FoldError {}

/// Folds the events of a whole turn into its items.
pub fn fold(events: impl IntoIterator<Item = TurnEvent>) -> Result<Vec<FoldedItem>, FoldError> {
    let mut items = Vec::new();
    let mut open: Option<(ItemHead, String)> = None;
    for (at, event) in events.into_iter().enumerate() {
        match event {
            TurnEvent::Open(_) if open.is_some() => return Err(FoldError::Overlap(at)),
            TurnEvent::Open(head) => open = Some((head, String::new())),
            TurnEvent::Text(delta) if delta.is_empty() => return Err(FoldError::EmptyText(at)),
            TurnEvent::Text(delta) => open.as_mut().ok_or(FoldError::Outside(at))?.1.push_str(&delta),
            TurnEvent::Close(status) => {
                let (head, text) = open.take().ok_or(FoldError::Outside(at))?;
                items.push(FoldedItem { head, text, status });
            }
            TurnEvent::Routed(_) => {}
        }
    }
    if open.is_some() { Err(FoldError::Unclosed) } else { Ok(items) }
}
