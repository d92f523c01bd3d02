//! The response object: all fields, always.

use serde::Serialize;
use serde_json::{Map, Value};

use super::items::Item;
use crate::turn::Usage;

/// What the object repeats of its request.
#[derive(Debug, Clone)]
pub(super) struct Echo {
    pub(super) model: String,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Value>,
    pub(super) tool_choice: &'static str,
    pub(super) parallel_tool_calls: bool,
    pub(super) text: TextEcho,
    pub(super) top_p: f64,
    pub(super) temperature: f64,
    pub(super) reasoning: ReasoningEcho,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) max_tool_calls: Option<u32>,
    pub(super) metadata: Map<String, Value>,
    pub(super) safety_identifier: Option<String>,
    pub(super) prompt_cache_key: Option<String>,
}

/// `text`.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct TextEcho {
    pub(super) format: PlainText,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verbosity: Option<String>,
}

/// The one output format.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "type", rename = "text")]
pub(super) struct PlainText {}

/// `reasoning`.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct ReasoningEcho {
    pub(super) effort: Option<String>,
    pub(super) summary: Option<String>,
}

/// Status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResponseStatus {
    /// Being generated.
    InProgress,
    /// Whole.
    Completed,
    /// Cut off.
    Incomplete,
    /// Failed.
    Failed,
}

/// `incomplete_details`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: &'static str,
}

/// `error`.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ResponseError {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// `usage`.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ResponseUsage {
    input_tokens: u32,
    input_tokens_details: InputTokens,
    output_tokens: u32,
    output_tokens_details: OutputTokens,
    total_tokens: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct InputTokens {
    cached_tokens: u32,
    cache_write_tokens: u32,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct OutputTokens {
    reasoning_tokens: u32,
}

impl From<Usage> for ResponseUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            input_tokens_details: InputTokens { cached_tokens: usage.cached_tokens, cache_write_tokens: 0 },
            output_tokens: usage.output_tokens,
            output_tokens_details: OutputTokens { reasoning_tokens: usage.reasoning_tokens },
            total_tokens: u64::from(usage.input_tokens) + u64::from(usage.output_tokens),
        }
    }
}

/// The object. Fields that only later features will set stand with the value that says so.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Resource {
    pub(super) id: String,
    object: &'static str,
    pub(super) created_at: u64,
    pub(super) completed_at: Option<u64>,
    pub(super) status: ResponseStatus,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    model: String,
    previous_response_id: Option<String>,
    instructions: Option<String>,
    pub(super) output: Vec<Item>,
    pub(super) error: Option<ResponseError>,
    tools: Vec<Value>,
    tool_choice: &'static str,
    truncation: &'static str,
    parallel_tool_calls: bool,
    text: TextEcho,
    top_p: f64,
    presence_penalty: f64,
    frequency_penalty: f64,
    top_logprobs: u32,
    temperature: f64,
    reasoning: ReasoningEcho,
    pub(super) usage: Option<ResponseUsage>,
    max_output_tokens: Option<u32>,
    max_tool_calls: Option<u32>,
    /// False even where the request said true: nothing is stored.
    store: bool,
    background: bool,
    service_tier: &'static str,
    metadata: Map<String, Value>,
    safety_identifier: Option<String>,
    prompt_cache_key: Option<String>,
}

impl Resource {
    /// A response that hasn't begun: no id, no time, no output.
    pub(super) fn new(echo: Echo) -> Self {
        Self {
            id: String::new(),
            object: "response",
            created_at: 0,
            completed_at: None,
            status: ResponseStatus::InProgress,
            incomplete_details: None,
            model: echo.model,
            previous_response_id: None,
            instructions: echo.instructions,
            output: Vec::new(),
            error: None,
            tools: echo.tools,
            tool_choice: echo.tool_choice,
            truncation: "disabled",
            parallel_tool_calls: echo.parallel_tool_calls,
            text: echo.text,
            top_p: echo.top_p,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            top_logprobs: 0,
            temperature: echo.temperature,
            reasoning: echo.reasoning,
            usage: None,
            max_output_tokens: echo.max_output_tokens,
            max_tool_calls: echo.max_tool_calls,
            store: false,
            background: false,
            service_tier: "default",
            metadata: echo.metadata,
            safety_identifier: echo.safety_identifier,
            prompt_cache_key: echo.prompt_cache_key,
        }
    }
}
