//! Folds a turn's events into whole items, and checks their grammar on the way. Tests and parser tools call it.

use super::event::{ItemHead, ItemStatus, TurnEvent};

/// One item, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub head: ItemHead,
    /// All its text.
    pub text: String,
    /// How it ended.
    pub status: ItemStatus,
}

/// Events that make no items; the number is the event's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// An item opens inside another.
    #[error("event {0}: an item opens while another is open")]
    Overlap(usize),
    /// Text or a close without an item.
    #[error("event {0}: no item is open")]
    Outside(usize),
    /// Text that says nothing.
    #[error("event {0}: empty text")]
    EmptyText(usize),
    /// The last item has no end.
    #[error("the last item is never closed")]
    Unclosed,
}

/// The items that `events`, a whole turn's, amount to.
pub fn fold(events: impl IntoIterator<Item = TurnEvent>) -> Result<Vec<Item>, FoldError> {
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
                items.push(Item { head, text, status });
            }
        }
    }
    if open.is_some() { Err(FoldError::Unclosed) } else { Ok(items) }
}
