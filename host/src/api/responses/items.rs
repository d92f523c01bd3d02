//! Output items and their parts, exactly as clients get them.

use serde::Serialize;

use crate::parser::contract::Phase;

/// Status of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// Open.
    InProgress,
    /// Whole.
    Completed,
    /// Cut off.
    Incomplete,
}

/// A part of a reasoning item's content.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "reasoning_text")]
pub(super) struct ReasoningText {
    /// The text.
    pub(super) text: String,
}

/// A part of a reasoning item's summary.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "summary_text")]
pub(super) struct SummaryText {
    /// The text.
    pub(super) text: String,
}

/// A part of a message.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "output_text")]
pub(super) struct OutputText {
    /// The text.
    pub(super) text: String,
    /// Always there, always empty: nothing here cites.
    pub(super) annotations: [(); 0],
    /// Empty where not asked for.
    pub(super) logprobs: [(); 0],
}

/// Part of the answer that a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MessagePhase {
    /// A preamble beside calls.
    Commentary,
    /// The answer.
    FinalAnswer,
}

impl MessagePhase {
    /// The protocol's word; none where the format doesn't say.
    pub(super) fn new(phase: Phase) -> Option<Self> {
        match phase {
            Phase::Unspecified => None,
            Phase::Commentary => Some(Self::Commentary),
            Phase::Final => Some(Self::FinalAnswer),
        }
    }
}

/// An output item. Its texts grow while it is open.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    /// Reasoning, in one of two dialects: `content` is absent in the one that uses `summary`.
    Reasoning {
        id: String,
        status: Status,
        summary: Vec<SummaryText>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Vec<ReasoningText>>,
    },
    /// Text for the user.
    Message {
        id: String,
        status: Status,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
        content: Vec<OutputText>,
    },
    /// A call with JSON arguments.
    FunctionCall { id: String, status: Status, call_id: String, name: String, arguments: String },
    /// A call with plain text.
    CustomToolCall { id: String, status: Status, call_id: String, name: String, input: String },
}

impl Item {
    /// Its id.
    pub(super) fn id(&self) -> &str {
        let (Self::Reasoning { id, .. }
        | Self::Message { id, .. }
        | Self::FunctionCall { id, .. }
        | Self::CustomToolCall { id, .. }) = self;
        id
    }

    /// Sets its status.
    pub(super) fn set_status(&mut self, new: Status) {
        let (Self::Reasoning { status, .. }
        | Self::Message { status, .. }
        | Self::FunctionCall { status, .. }
        | Self::CustomToolCall { status, .. }) = self;
        *status = new;
    }
}
