//! The protocol's objects: chunks of a stream with borrowed text, and the whole completion.

use serde::Serialize;

use crate::turn::Usage;

/// One `data:` line of a stream.
#[derive(Debug, Serialize)]
pub(super) struct Chunk<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    /// One choice, or none in the usage chunk.
    pub(super) choices: &'a [ChunkChoice<'a>],
    /// Null in all chunks but the last.
    #[serde(skip_serializing_if = "ChunkUsage::is_unwanted")]
    pub(super) usage: ChunkUsage,
}

#[derive(Debug, Serialize)]
pub(super) struct ChunkChoice<'a> {
    pub(super) index: u32,
    pub(super) delta: Delta<'a>,
    pub(super) logprobs: Option<()>,
    pub(super) finish_reason: Option<&'static str>,
}

/// What a chunk adds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
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

/// More of a call: its head first, then arguments.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct CallDelta<'a> {
    pub(super) index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    pub(super) function: FunctionDelta<'a>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    pub(super) arguments: &'a str,
}

/// The whole answer.
#[derive(Debug, Serialize)]
pub(super) struct Completion<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'static str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) choices: [CompletionChoice<'a>; 1],
    pub(super) usage: ChatUsage,
}

#[derive(Debug, Serialize)]
pub(super) struct CompletionChoice<'a> {
    pub(super) index: u32,
    pub(super) message: &'a Answer,
    pub(super) logprobs: Option<()>,
    pub(super) finish_reason: &'static str,
}

/// The assistant's message as it grows.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) role: &'static str,
    pub(super) content: Option<String>,
    pub(super) refusal: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<Call>,
}

/// A call in it.
#[derive(Debug, Serialize)]
pub(super) struct Call {
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) function: Function,
}

#[derive(Debug, Serialize)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) arguments: String,
}

/// `usage` of a chunk.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
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
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ChatUsage {
    prompt_tokens: u32,
    completion_tokens: u32,
    total_tokens: u64,
    prompt_tokens_details: PromptTokens,
    completion_tokens_details: CompletionTokens,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct PromptTokens {
    cached_tokens: u32,
}

#[derive(Debug, Clone, Copy, Serialize)]
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
