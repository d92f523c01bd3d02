//! What a protocol asks of a model: one turn, in no protocol's words.

use crate::parser::contract::{Tool, ToolChoice};
use crate::prompt::Conversation;

/// One turn to generate.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Messages and tools, for the template.
    pub conversation: Conversation,
    /// The same tools, for the parser.
    pub tools: Vec<Tool>,
    /// Which of them may be called. `None` means that tools aren't shown to the model either.
    pub tool_choice: ToolChoice,
    /// Whether several calls in one turn are allowed.
    pub parallel_tool_calls: bool,
    /// Arguments of the chat template beside messages and tools (scalars), e.g. `enable_thinking`.
    pub template_arguments: Vec<(String, serde_json::Value)>,
    /// What the request says of sampling; the model's defaults fill the rest.
    pub sampling: SamplingRequest,
    /// Bound on generated tokens; none: what the context leaves.
    pub max_output_tokens: Option<u32>,
    /// Texts that end a message (not shown).
    pub stop: Vec<String>,
}

/// Sampling as the request asks for it; ranges were checked by the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SamplingRequest {
    /// 0 is greedy.
    pub temperature: Option<f32>,
    /// Nucleus, in (0, 1].
    pub top_p: Option<f32>,
    /// The k likeliest; 0 is all.
    pub top_k: Option<u32>,
    /// Seed; none: a fresh one.
    pub seed: Option<u64>,
}
