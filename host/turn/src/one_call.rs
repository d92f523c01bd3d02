//! Filter that ends a turn after its first tool call, for requests that allow one at most
//! (`parallel_tool_calls: false`).
//!
//! The caller shows nothing after that call. The filter stands between `Turn` and the protocol,
//! beside the stop strings.

use super::event::{ItemHead, ItemStatus, TurnEvent};

/// Filter that looks for the end of a turn's first call.
#[derive(Debug, Default)]
pub(crate) struct OneCall {
    /// Whether several calls are allowed: then the filter ends nothing.
    unbounded: bool,
    in_call: bool,
}

impl OneCall {
    /// Creates a filter, which ends nothing if `parallel` calls are allowed.
    pub(crate) fn new(parallel: bool) -> Self {
        Self { unbounded: parallel, in_call: false }
    }

    /// Whether the filter ends nothing.
    pub(crate) fn is_idle(&self) -> bool {
        self.unbounded
    }

    /// Reads one event. At a call's end it returns how the call ended; the caller shows no later
    /// event, unless the filter is idle.
    pub(crate) fn ended(&mut self, event: &TurnEvent) -> Option<ItemStatus> {
        match event {
            TurnEvent::Open(head) => self.in_call = matches!(head, ItemHead::ToolCall { .. }),
            TurnEvent::Close(status) if self.in_call => return Some(*status),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::OneCall;
    use crate::{ItemHead, ItemStatus, Phase, TurnEvent};
    use contract::Payload;

    fn call() -> TurnEvent {
        let (call_id, name) = ("c".to_owned(), "f".to_owned());
        TurnEvent::Open(ItemHead::ToolCall { call_id, name, payload: Payload::Json })
    }

    #[test]
    fn the_turn_ends_with_its_first_call() {
        let message = TurnEvent::Open(ItemHead::Message { phase: Phase::Unspecified });
        let mut one = OneCall::new(false);
        for event in [&message, &TurnEvent::Close(ItemStatus::Completed), &call()] {
            assert_eq!(one.ended(event), None);
        }
        assert_eq!(one.ended(&TurnEvent::Close(ItemStatus::Completed)), Some(ItemStatus::Completed));
    }

    #[test]
    fn a_call_that_was_cut_off_is_told_apart() {
        let mut one = OneCall::new(false);
        assert_eq!(one.ended(&call()), None);
        assert_eq!(one.ended(&TurnEvent::Close(ItemStatus::Incomplete)), Some(ItemStatus::Incomplete));
    }

    #[test]
    fn parallel_calls_end_nothing() {
        assert!(OneCall::new(true).is_idle() && !OneCall::new(false).is_idle());
    }
}
