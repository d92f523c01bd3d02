//! The protocol's objects: a chunk of a stream and a whole answer have the same shape.

use schemars::JsonSchema;
use serde::Serialize;

use super::logprobs::TextLogprobs;
use crate::chat::ChatUsage;
use crate::token_ids::TokenIds;

/// An answer, or a part of one.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Completion<'a> {
    pub(super) id: &'a str,
    #[schemars(extend("const" = "text_completion"))]
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) choices: &'a [TextChoice<'a>],
    /// In a whole answer, and in the last chunk of a stream that asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<ChatUsage>,
}

/// Text of one choice.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "CompletionChoice")]
pub(super) struct TextChoice<'a> {
    pub(super) index: usize,
    pub(super) text: &'a str,
    pub(super) logprobs: Option<&'a TextLogprobs>,
    #[schemars(extend("enum" = ["stop", "length", null]))]
    pub(super) finish_reason: Option<&'static str>,
    #[serde(flatten)]
    pub(super) ids: TokenIds<'a>,
}
