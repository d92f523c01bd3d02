//! Items as tests compare them: without the ids that a server gives to calls.

use contract::{Payload, ToolCall};
use turn::Phase;
use turn::{ItemHead, ItemStatus};

/// One item of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Kind of the item.
    pub head: Head,
    /// Text of the item, or arguments of the call.
    pub text: String,
    /// Whether the item is complete, not cut off.
    pub complete: bool,
}

/// Kind of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// Reasoning.
    Reasoning,
    /// A message of this phase.
    Message(Phase),
    /// A call.
    ToolCall(ToolCall),
}

impl Item {
    /// A complete reasoning item.
    pub fn reasoning(text: impl Into<String>) -> Self {
        Self { head: Head::Reasoning, text: text.into(), complete: true }
    }

    /// A complete message without a phase.
    pub fn message(text: impl Into<String>) -> Self {
        Self { head: Head::Message(Phase::Unspecified), text: text.into(), complete: true }
    }

    /// A complete call with JSON arguments.
    pub fn call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let head = Head::ToolCall(ToolCall::new(name, Payload::Json));
        Self { head, text: arguments.into(), complete: true }
    }

    /// The item, cut off.
    #[must_use]
    pub fn incomplete(self) -> Self {
        Self { complete: false, ..self }
    }
}

impl From<turn::FoldedItem> for Item {
    fn from(item: turn::FoldedItem) -> Self {
        let head = match item.head {
            ItemHead::Reasoning => Head::Reasoning,
            ItemHead::Message { phase } => Head::Message(phase),
            ItemHead::ToolCall { name, payload, .. } => Head::ToolCall(ToolCall::new(name, payload)),
        };
        Self { head, text: item.text, complete: item.status == ItemStatus::Completed }
    }
}

/// The calls with JSON arguments.
pub(super) fn json_calls(items: &[Item]) -> Vec<&Item> {
    let is_json = |item: &&Item| matches!(&item.head, Head::ToolCall(call) if call.payload == Payload::Json);
    items.iter().filter(is_json).collect()
}
