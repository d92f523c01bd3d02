//! Items as case files spell them, and their conversion to and from [`Item`].

use serde::{Deserialize, Serialize};

use crate::{Head, Item};
use contract::{Payload, ToolCall};
use turn::Phase;

/// An item as case files spell it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum CaseItem {
    /// Reasoning.
    Reasoning {
        /// The whole text.
        text: String,
        /// How the item ended.
        #[serde(default, skip_serializing_if = "CaseStatus::is_completed")]
        status: CaseStatus,
    },
    /// A message.
    Message {
        /// Phase of the message, where the format says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<CasePhase>,
        /// The whole text.
        text: String,
        /// How the item ended.
        #[serde(default, skip_serializing_if = "CaseStatus::is_completed")]
        status: CaseStatus,
    },
    /// A tool call.
    ToolCall {
        /// Name of the tool.
        name: String,
        /// Arguments of the call, to the byte.
        arguments: String,
        /// Kind of the arguments.
        #[serde(default, skip_serializing_if = "CasePayload::is_json")]
        payload: CasePayload,
        /// How the item ended.
        #[serde(default, skip_serializing_if = "CaseStatus::is_completed")]
        status: CaseStatus,
    },
}

/// How an item ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseStatus {
    /// The item is complete.
    #[default]
    Completed,
    /// The item was cut off.
    Incomplete,
}

/// The phase of a message, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CasePhase {
    /// A preamble that the model writes beside tool calls.
    Commentary,
    /// The answer.
    Final,
}

/// Kind of a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CasePayload {
    /// JSON.
    #[default]
    Json,
    /// Plain text.
    Text,
}

impl CaseStatus {
    fn of(complete: bool) -> Self {
        if complete { Self::Completed } else { Self::Incomplete }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
    fn is_completed(&self) -> bool {
        *self == Self::Completed
    }
}

impl CasePayload {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
    fn is_json(&self) -> bool {
        *self == Self::Json
    }
}

impl From<CaseItem> for Item {
    fn from(item: CaseItem) -> Self {
        let (head, text, status) = match item {
            CaseItem::Reasoning { text, status } => (Head::Reasoning, text, status),
            CaseItem::Message { phase, text, status } => {
                let phase = match phase {
                    None => Phase::Unspecified,
                    Some(CasePhase::Commentary) => Phase::Commentary,
                    Some(CasePhase::Final) => Phase::Final,
                };
                (Head::Message(phase), text, status)
            }
            CaseItem::ToolCall { name, arguments, payload, status } => {
                let payload = match payload {
                    CasePayload::Json => Payload::Json,
                    CasePayload::Text => Payload::Text,
                };
                (Head::ToolCall(ToolCall::new(name, payload)), arguments, status)
            }
        };
        Self { head, text, complete: status == CaseStatus::Completed }
    }
}

impl From<Item> for CaseItem {
    fn from(item: Item) -> Self {
        let Item { head, text, complete } = item;
        let status = CaseStatus::of(complete);
        match head {
            Head::Reasoning => Self::Reasoning { text, status },
            Head::Message(phase) => {
                let phase = match phase {
                    Phase::Unspecified => None,
                    Phase::Commentary => Some(CasePhase::Commentary),
                    Phase::Final => Some(CasePhase::Final),
                };
                Self::Message { phase, text, status }
            }
            Head::ToolCall(ToolCall { name, payload, id: _ }) => {
                let payload = match payload {
                    Payload::Json => CasePayload::Json,
                    Payload::Text => CasePayload::Text,
                };
                Self::ToolCall { name, arguments: text, payload, status }
            }
        }
    }
}
