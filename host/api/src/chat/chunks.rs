//! The protocol's objects: chunks of a stream with borrowed text, and the whole completion.

use schemars::JsonSchema;
use serde::Serialize;

use super::logprobs::ContentLogprobs;
use crate::schema::padded;
use crate::token_ids::TokenIds;
use turn::Usage;

/// One `data:` line of a stream.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatCompletionChunk", transform = padded)]
pub(crate) struct Chunk<'a> {
    pub(super) id: &'a str,
    #[schemars(extend("const" = "chat.completion.chunk"))]
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    /// One choice, or none in the usage chunk.
    pub(super) choices: &'a [ChunkChoice<'a>],
    /// Null in all chunks but the last.
    #[serde(skip_serializing_if = "ChunkUsage::is_unwanted")]
    pub(super) usage: ChunkUsage,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatChunkChoice")]
pub(super) struct ChunkChoice<'a> {
    pub(super) index: u32,
    pub(super) delta: Delta<'a>,
    pub(super) logprobs: Option<ContentLogprobs<'a>>,
    #[schemars(extend("enum" = ["stop", "length", "tool_calls", null]))]
    pub(super) finish_reason: Option<&'static str>,
    #[serde(flatten)]
    pub(super) ids: TokenIds<'a>,
}

/// What a chunk adds.
#[derive(Debug, Clone, Copy, Default, JsonSchema, Serialize)]
#[schemars(rename = "ChatDelta")]
pub(super) struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<&'a str>,
    /// Reasoning, under the name that most clients read …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<&'a str>,
    /// … and under the one that the others read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_calls: Option<[CallDelta<'a>; 1]>,
}

impl<'a> Delta<'a> {
    /// Text that the delta adds: content, reasoning, or arguments of a call.
    pub(super) fn said(&self) -> &'a str {
        let of_call = || {
            Some(match self.tool_calls?[0].part {
                PartDelta::Function { arguments, .. } => arguments,
                PartDelta::Custom { input, .. } => input,
            })
        };
        self.content.or(self.reasoning).or_else(of_call).unwrap_or_default()
    }
}

/// More of a call: its head first, then arguments.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "ChatCallDelta")]
pub(super) struct CallDelta<'a> {
    pub(super) index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    #[serde(flatten)]
    pub(super) part: PartDelta<'a>,
}

/// What a call says, by its type.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ChatCallPartDelta")]
pub(super) enum PartDelta<'a> {
    /// JSON arguments of a function.
    Function {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        arguments: &'a str,
    },
    /// Text for a custom tool.
    Custom {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        input: &'a str,
    },
}

/// The whole answer.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatCompletion")]
pub(crate) struct Completion<'a> {
    pub(super) id: &'a str,
    #[schemars(extend("const" = "chat.completion"))]
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) choices: Vec<CompletionChoice<'a>>,
    pub(super) usage: ChatUsage,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatChoice")]
pub(super) struct CompletionChoice<'a> {
    pub(super) index: u32,
    pub(super) message: &'a AssistantMessage,
    pub(super) logprobs: Option<ContentLogprobs<'a>>,
    #[schemars(extend("enum" = ["stop", "length", "tool_calls"]))]
    pub(super) finish_reason: &'static str,
    #[serde(flatten)]
    pub(super) ids: TokenIds<'a>,
}

/// The assistant's message as it grows.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatMessage")]
pub(super) struct AssistantMessage {
    #[schemars(extend("const" = "assistant"))]
    pub(super) role: &'static str,
    pub(super) content: Option<String>,
    pub(super) refusal: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<MessageToolCall>,
}

/// A call in it.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatCall")]
pub(super) struct MessageToolCall {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) part: CallPart,
}

/// Content of a call, by its type.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ChatCallPart")]
pub(super) enum CallPart {
    /// JSON arguments of a function.
    Function { name: String, arguments: String },
    /// Text for a custom tool.
    Custom { name: String, input: String },
}

/// `usage` of a chunk.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[serde(untagged)]
#[schemars(rename = "ChatChunkUsage")]
pub(super) enum ChunkUsage {
    /// The client didn't ask: the field is absent.
    Unwanted,
    /// It comes in the last chunk: null until then.
    Later(Option<()>),
    /// Here it is.
    Now(ChatUsage),
}

impl ChunkUsage {
    fn is_unwanted(&self) -> bool {
        matches!(self, Self::Unwanted)
    }
}

/// `usage`.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "Usage")]
pub(crate) struct ChatUsage {
    prompt_tokens: u32,
    completion_tokens: u32,
    total_tokens: u64,
    prompt_tokens_details: PromptTokens,
    completion_tokens_details: CompletionTokens,
}

#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "UsagePromptTokens")]
struct PromptTokens {
    cached_tokens: u32,
}

#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "UsageCompletionTokens")]
struct CompletionTokens {
    reasoning_tokens: u32,
}

impl From<Usage> for ChatUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: u64::from(usage.input_tokens) + u64::from(usage.output_tokens),
            prompt_tokens_details: PromptTokens { cached_tokens: usage.cached_tokens },
            completion_tokens_details: CompletionTokens { reasoning_tokens: usage.reasoning_tokens },
        }
    }
}
