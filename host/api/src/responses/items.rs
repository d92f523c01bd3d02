//! Output items and their parts, exactly as clients get them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hosted::items::HostedItem;
pub(super) use super::status::Status;
use super::typed::items::TypedItem;
use crate::schema::tagged;

/// A part of a reasoning item's content.
#[derive(Debug, Clone, Default, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename = "reasoning_text")]
#[schemars(transform = tagged("reasoning_text"))]
pub(super) struct ReasoningText {
    /// The text.
    pub(super) text: String,
}

/// A part of a reasoning item's summary.
#[derive(Debug, Clone, Default, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename = "summary_text")]
#[schemars(transform = tagged("summary_text"))]
pub(super) struct SummaryText {
    /// The text.
    pub(super) text: String,
}

/// A part of a message.
#[derive(Debug, Clone, Default, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename = "output_text")]
#[schemars(transform = tagged("output_text"))]
pub(super) struct OutputText {
    /// The text.
    pub(super) text: String,
    /// Always there, always empty: nothing here cites.
    pub(super) annotations: [(); 0],
    /// Of all its tokens; empty where not asked for.
    pub(super) logprobs: Vec<TokenLogprob>,
}

/// A generated token, how likely it was, and what else was likely in its place.
#[derive(Debug, Clone, PartialEq, JsonSchema, Deserialize, Serialize)]
#[schemars(rename = "ResponseToken")]
pub(super) struct TokenLogprob {
    /// The token and its likelihood.
    #[serde(flatten)]
    pub(super) chosen: Likelihood,
    /// The likeliest ones, likeliest first; as many as were asked for.
    pub(super) top_logprobs: Vec<Likelihood>,
}

/// A token and its likelihood.
#[derive(Debug, Clone, PartialEq, JsonSchema, Deserialize, Serialize)]
#[schemars(rename = "ResponseLikelyToken")]
pub(super) struct Likelihood {
    /// Its text; what isn't UTF-8 by itself is replaced.
    pub(super) token: String,
    /// Its bytes.
    pub(super) bytes: Vec<u8>,
    /// Natural logarithm of its probability; finite.
    pub(super) logprob: f32,
}

/// Part of the answer that a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MessagePhase {
    /// A preamble beside calls.
    Commentary,
    /// The answer.
    FinalAnswer,
}

/// Who a message of the output is by.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthorRole {
    /// The model.
    Assistant,
}

/// An output item. Its texts grow while it is open.
#[derive(Debug, Clone, JsonSchema, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "OutputItem")]
pub(super) enum Item {
    /// Reasoning, in one of two dialects: `content` is absent in the one that uses `summary`.
    Reasoning {
        id: String,
        status: Status,
        summary: Vec<SummaryText>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Vec<ReasoningText>>,
        /// The reasoning as only this server can read it; set when it is done, absent where not
        /// asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<String>,
    },
    /// Text for the user.
    Message {
        id: String,
        status: Status,
        #[schemars(with = "String", extend("const" = "assistant"))]
        role: AuthorRole,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<MessagePhase>,
        content: Vec<OutputText>,
    },
    /// A call with JSON arguments.
    FunctionCall {
        id: String,
        status: Status,
        call_id: String,
        name: String,
        /// The namespace that the tool was declared in.
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        arguments: String,
    },
    /// A call with plain text.
    CustomToolCall {
        id: String,
        status: Status,
        call_id: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<String>,
        input: String,
    },
    /// A summary that stands for what came before it, as only this server can read it.
    Compaction {
        id: String,
        /// Empty until the summary is whole, and for ever if none came of it.
        encrypted_content: String,
    },
    /// Of a tool that the server runs.
    #[serde(untagged)]
    Hosted(HostedItem),
    /// A call of a tool that the client runs and the protocol has an item for.
    #[serde(untagged)]
    Typed(TypedItem),
}

impl Item {
    /// The item's id.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Reasoning { id, .. }
            | Self::Message { id, .. }
            | Self::FunctionCall { id, .. }
            | Self::CustomToolCall { id, .. }
            | Self::Compaction { id, .. } => id,
            Self::Hosted(item) => item.id(),
            Self::Typed(item) => item.id(),
        }
    }

    /// Whether it is a call that the server still runs.
    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Hosted(item) if item.is_open())
    }

    /// Whether the client must answer it before the conversation can go on.
    pub(super) fn waits_for_client(&self) -> bool {
        match self {
            Self::FunctionCall { .. } | Self::CustomToolCall { .. } => true,
            Self::Typed(item) => item.waits_for_client(),
            Self::Hosted(item) => item.waits_for_client(),
            _ => false,
        }
    }

    /// Sets the item's status. Compaction items have none, and items of tools that the server runs
    /// are unchanged.
    pub(super) fn set_status(&mut self, new: Status) {
        match self {
            Self::Reasoning { status, .. }
            | Self::Message { status, .. }
            | Self::FunctionCall { status, .. }
            | Self::CustomToolCall { status, .. } => *status = new,
            Self::Typed(item) => item.set_status(new),
            // `hosted` sets it.
            Self::Compaction { .. } | Self::Hosted(_) => {}
        }
    }
}
