//! Shapes of turns: the parts of a turn's events that decide whether the protocols' streams are
//! valid, without the texts. A stream that is cut off at every place gives thousands of turns of a
//! few shapes; the streams of each shape are checked once.

use serde::de::IgnoredAny;

use super::TurnCheck;
use turn::{ItemHead, ItemStatus, TurnEnd, TurnEvent};

/// Shapes of one case's turns whose streams are valid.
pub(super) struct ValidShapes {
    known: Vec<(Vec<ItemShape>, TurnEnd)>,
    check: TurnCheck,
}

/// Shape of one item, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ItemShape {
    head: ItemHead,
    status: Option<ItemStatus>,
    has_text: bool,
    /// Whether the arguments of a call are JSON, since Messages sends them as an object. False for
    /// other items.
    is_json: bool,
}

impl ValidShapes {
    /// No shapes, with what a turn has to pass.
    pub(super) fn new(check: TurnCheck) -> Self {
        Self { known: Vec::new(), check }
    }

    /// Checks that the turn makes a valid stream of every protocol, unless a turn of this shape
    /// already did.
    pub(super) fn check(&mut self, events: &[TurnEvent], end: &TurnEnd) -> Result<(), String> {
        let shape = (shape(events), end.clone());
        if self.known.contains(&shape) {
            return Ok(());
        }
        (self.check)(events, end)?;
        self.known.push(shape);
        Ok(())
    }
}

fn shape(events: &[TurnEvent]) -> Vec<ItemShape> {
    let (mut items, mut text) = (Vec::<ItemShape>::new(), String::new());
    for event in events {
        match (event, items.last_mut()) {
            (TurnEvent::Open(head), _) => {
                text.clear();
                items.push(ItemShape { head: head.clone(), status: None, has_text: false, is_json: false });
            }
            (TurnEvent::Text(delta), Some(item)) => {
                item.has_text = true;
                text.push_str(&delta.text);
            }
            (TurnEvent::Close(status), Some(item)) => {
                item.status = Some(*status);
                item.is_json = matches!(item.head, ItemHead::ToolCall { .. })
                    && serde_json::from_str::<IgnoredAny>(&text).is_ok();
            }
            // Callers refuse such a turn before, since its events make no items.
            _ => {}
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::Payload;
    use turn::Delta;

    fn turn(arguments: &[&str], status: ItemStatus) -> Vec<TurnEvent> {
        let head = ItemHead::ToolCall {
            call_id: "call_1".to_owned(),
            name: "look".to_owned(),
            payload: Payload::Json,
        };
        let text = arguments
            .iter()
            .map(|text| TurnEvent::Text(Delta { text: (*text).to_owned(), tokens: Vec::new() }));
        std::iter::once(TurnEvent::Open(head)).chain(text).chain([TurnEvent::Close(status)]).collect()
    }

    #[test]
    fn text_length_keeps_the_shape_and_status_changes_it() {
        let part = shape(&turn(&["{\"a\": ", "1"], ItemStatus::Incomplete));
        assert_eq!(part, shape(&turn(&["{"], ItemStatus::Incomplete)));
        assert_ne!(part, shape(&turn(&["{\"a\": ", "1"], ItemStatus::Completed)));
        assert_ne!(part, shape(&turn(&["{}"], ItemStatus::Incomplete)));
        assert_ne!(part, shape(&turn(&[], ItemStatus::Incomplete)));
        let two: Vec<TurnEvent> =
            [turn(&["{"], ItemStatus::Incomplete), turn(&["{"], ItemStatus::Incomplete)].concat();
        assert_ne!(part, shape(&two));
    }

    #[test]
    fn an_invalid_turn_is_refused_each_time() {
        let mut open = turn(&["{}"], ItemStatus::Completed);
        open.pop();
        let is_closed = |events: &[TurnEvent], _: &TurnEnd| match events.last() {
            Some(TurnEvent::Close(_)) => Ok(()),
            _ => Err("an item is open".to_owned()),
        };
        let mut shapes = ValidShapes::new(is_closed);
        for _ in 0..2 {
            assert!(shapes.check(&open, &TurnEnd::Completed).is_err());
        }
        assert_eq!(shapes.check(&turn(&["{}"], ItemStatus::Completed), &TurnEnd::Completed), Ok(()));
    }
}
