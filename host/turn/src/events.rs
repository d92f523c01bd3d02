//! Buffer of a turn's events for a protocol. Its memory is reused, so that a text costs no
//! allocation of its own.
//!
//! Invariant: slots from `count` on are never visible; their memory serves later events. `items`
//! writes texts here; the reader of the events drains or clears them.

use std::fmt;
use std::ops::Deref;

use super::event::{Delta, Routed, TurnEvent};
use contract::Route;

/// Buffer of events, in the order in which they happened.
#[derive(Default)]
pub struct TurnEvents {
    slots: Vec<TurnEvent>,
    count: usize,
}

impl TurnEvents {
    /// Adds an event.
    #[inline(never)]
    pub fn push(&mut self, event: TurnEvent) {
        if let Some(slot) = self.slots.get_mut(self.count) {
            *slot = event;
        } else {
            self.slots.push(event);
        }
        self.count += 1;
    }

    /// Removes all events; their memory is kept.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Removes all events and yields them, the oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = TurnEvent> {
        self.slots.drain(..std::mem::take(&mut self.count))
    }

    /// The last event if it is a text event, else a new, empty text event.
    #[inline]
    pub(super) fn text(&mut self) -> &mut Delta {
        if !matches!(self.last(), Some(TurnEvent::Text(_))) {
            self.begin_text();
        }
        let Some(TurnEvent::Text(delta)) = self.slots.get_mut(self.count - 1) else {
            unreachable!("a text event stands there")
        };
        delta
    }

    fn begin_text(&mut self) {
        match self.slots.get_mut(self.count) {
            Some(TurnEvent::Text(used)) => {
                used.clear();
                self.count += 1;
            }
            _ => self.push(TurnEvent::Text(Delta::default())),
        }
    }

    /// Notes where the next bytes of the stream went.
    #[cold]
    pub(super) fn routed(&mut self, route: Route, text: &str) {
        match self.slots[..self.count].last_mut() {
            _ if text.is_empty() => {}
            Some(TurnEvent::Routed(last)) if last.route == route => last.text.push_str(text),
            _ => self.push(TurnEvent::Routed(Routed { route, text: text.to_owned() })),
        }
    }

    /// Whether nothing happened to an item.
    pub(super) fn say_nothing(&self) -> bool {
        self.iter().all(|event| matches!(event, TurnEvent::Routed(_)))
    }

    /// Removes the text event at the end if nothing was written to it.
    pub(super) fn drop_empty_text(&mut self) {
        if matches!(self.last(), Some(TurnEvent::Text(delta)) if delta.is_empty()) {
            self.count -= 1;
        }
    }
}

impl Deref for TurnEvents {
    type Target = [TurnEvent];

    fn deref(&self) -> &[TurnEvent] {
        &self.slots[..self.count]
    }
}

impl Extend<TurnEvent> for TurnEvents {
    fn extend<I: IntoIterator<Item = TurnEvent>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

impl IntoIterator for TurnEvents {
    type Item = TurnEvent;
    type IntoIter = std::vec::IntoIter<TurnEvent>;

    fn into_iter(mut self) -> Self::IntoIter {
        self.slots.truncate(self.count);
        self.slots.into_iter()
    }
}

impl fmt::Debug for TurnEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ItemStatus;

    fn close() -> TurnEvent {
        TurnEvent::Close(ItemStatus::Completed)
    }

    fn push_text(events: &mut TurnEvents, text: &str) {
        events.text().text.push_str(text);
    }

    #[test]
    fn what_was_cleared_or_taken_out_is_never_seen_again() {
        let mut events = TurnEvents::default();
        push_text(&mut events, "old");
        events.push(close());
        push_text(&mut events, "older");
        events.clear();
        assert_eq!(events[..], []);
        push_text(&mut events, "new");
        assert_eq!(events[..], [TurnEvent::Text("new".into())]);
        assert_eq!(events.drain().collect::<Vec<_>>(), [TurnEvent::Text("new".into())]);
        push_text(&mut events, "next");
        push_text(&mut events, " word");
        assert_eq!(events.into_iter().collect::<Vec<_>>(), [TurnEvent::Text("next word".into())]);
    }

    #[test]
    fn a_text_that_says_nothing_is_taken_back() {
        let mut events = TurnEvents::default();
        events.push(close());
        events.text();
        events.drop_empty_text();
        assert_eq!(events[..], [close()]);
        events.drop_empty_text();
        assert_eq!(events.len(), 1);
    }
}
