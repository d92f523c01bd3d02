//! The response object, which always has all its fields.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::items::Item;
use crate::raw::Json;
use crate::schema::tagged;

/// Fields of the request that the response object repeats.
#[derive(Debug, Clone)]
pub(super) struct Echo {
    pub(super) model: String,
    pub(super) previous_response_id: Option<String>,
    pub(super) conversation: Option<ConversationEcho>,
    pub(super) store: bool,
    pub(super) background: bool,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Json>,
    pub(super) tool_choice: Json,
    pub(super) truncation: &'static str,
    pub(super) parallel_tool_calls: bool,
    pub(super) text: TextEcho,
    pub(super) top_p: f64,
    pub(super) presence_penalty: f64,
    pub(super) frequency_penalty: f64,
    pub(super) top_logprobs: u8,
    pub(super) temperature: f64,
    pub(super) reasoning: ReasoningEcho,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) max_tool_calls: Option<u32>,
    pub(super) metadata: Map<String, Value>,
    pub(super) safety_identifier: Option<String>,
    pub(super) prompt_cache_key: Option<String>,
}

/// `conversation`.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "ResponseConversation")]
pub(super) struct ConversationEcho {
    pub(super) id: String,
}

/// `text`.
#[derive(Debug, Clone, Default, JsonSchema, Serialize)]
#[schemars(rename = "ResponseTextOptions")]
pub(super) struct TextEcho {
    pub(super) format: FormatEcho,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) verbosity: Option<String>,
}

/// `text.format`.
#[derive(Debug, Clone, Default, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "ResponseTextFormat")]
pub(super) enum FormatEcho {
    /// Any text.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON of a schema.
    JsonSchema { name: String, description: Option<String>, schema: Json, strict: bool },
}

/// `reasoning`.
#[derive(Debug, Clone, Default, JsonSchema, Serialize)]
#[schemars(rename = "ResponseReasoningOptions")]
pub(super) struct ReasoningEcho {
    pub(super) effort: Option<String>,
    pub(super) summary: Option<String>,
}

/// Status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResponseStatus {
    /// Waiting to run in the background.
    Queued,
    /// Being generated.
    InProgress,
    /// Whole.
    Completed,
    /// Cut off.
    Incomplete,
    /// Stopped by its client.
    Cancelled,
    /// Failed.
    Failed,
}

/// `incomplete_details`.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "ResponseIncompleteDetails")]
pub(super) struct IncompleteDetails {
    pub(super) reason: &'static str,
}

/// `error`.
#[derive(Debug, Clone, JsonSchema, Serialize)]
pub(super) struct ResponseError {
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// `usage`.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
pub(super) struct ResponseUsage {
    input_tokens: u32,
    input_tokens_details: InputTokens,
    output_tokens: u32,
    output_tokens_details: OutputTokens,
    total_tokens: u64,
}

#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "ResponseInputTokens")]
struct InputTokens {
    cached_tokens: u32,
    cache_write_tokens: u32,
}

#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "ResponseOutputTokens")]
struct OutputTokens {
    reasoning_tokens: u32,
}

impl ResponseUsage {
    /// Counts of tokens; `cached` are of the input, `reasoning` of the output.
    pub(super) fn new(input: u32, cached: u32, output: u32, reasoning: u32) -> Self {
        Self {
            input_tokens: input,
            input_tokens_details: InputTokens { cached_tokens: cached, cache_write_tokens: 0 },
            output_tokens: output,
            output_tokens_details: OutputTokens { reasoning_tokens: reasoning },
            total_tokens: u64::from(input) + u64::from(output),
        }
    }
}

/// What the model read or wrote in one turn, markup and all (a field of vLLM's, for clients that
/// train on it).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(tag = "type", rename = "raw_message_tokens")]
#[schemars(transform = tagged("raw_message_tokens"))]
pub(super) struct RawMessage {
    /// The text of the tokens.
    pub(super) message: String,
    /// Their ids; where the two differ, these are right.
    pub(super) tokens: Vec<u32>,
}

/// The object. Fields that only later features will set stand with the value that says so.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "Response")]
pub(crate) struct Resource {
    pub(super) id: String,
    #[schemars(extend("const" = "response"))]
    object: &'static str,
    pub(super) created_at: u64,
    pub(super) completed_at: Option<u64>,
    pub(super) status: ResponseStatus,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    model: String,
    previous_response_id: Option<String>,
    /// Absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationEcho>,
    instructions: Option<String>,
    /// Calls that the server still runs are told by their own events only.
    #[serde(serialize_with = "finished")]
    pub(super) output: Vec<Item>,
    pub(super) error: Option<ResponseError>,
    tools: Vec<Json>,
    tool_choice: Json,
    #[schemars(extend("enum" = ["auto", "disabled"]))]
    truncation: &'static str,
    parallel_tool_calls: bool,
    text: TextEcho,
    top_p: f64,
    presence_penalty: f64,
    frequency_penalty: f64,
    top_logprobs: u8,
    temperature: f64,
    reasoning: ReasoningEcho,
    pub(super) usage: Option<ResponseUsage>,
    max_output_tokens: Option<u32>,
    max_tool_calls: Option<u32>,
    /// Whether the response can be read again.
    store: bool,
    background: bool,
    #[schemars(extend("const" = "default"))]
    service_tier: &'static str,
    metadata: Map<String, Value>,
    safety_identifier: Option<String>,
    prompt_cache_key: Option<String>,
    /// Only at the end, and only where asked for; one per turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) input_messages: Vec<RawMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) output_messages: Vec<RawMessage>,
}

fn finished<S: Serializer>(output: &[Item], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(output.iter().filter(|item| !item.is_running()))
}

impl Resource {
    /// The object's JSON with an empty output.
    pub(super) fn without_output(&mut self) -> Vec<u8> {
        let output = std::mem::take(&mut self.output);
        let json = serde_json::to_vec(self).expect("protocol types serialise");
        self.output = output;
        json
    }

    /// A response that hasn't begun: without id, time and output.
    pub(super) fn new(echo: Echo) -> Self {
        Self {
            id: String::new(),
            object: "response",
            created_at: 0,
            completed_at: None,
            status: ResponseStatus::InProgress,
            incomplete_details: None,
            model: echo.model,
            previous_response_id: echo.previous_response_id,
            conversation: echo.conversation,
            instructions: echo.instructions,
            output: Vec::new(),
            error: None,
            tools: echo.tools,
            tool_choice: echo.tool_choice,
            truncation: echo.truncation,
            parallel_tool_calls: echo.parallel_tool_calls,
            text: echo.text,
            top_p: echo.top_p,
            presence_penalty: echo.presence_penalty,
            frequency_penalty: echo.frequency_penalty,
            top_logprobs: echo.top_logprobs,
            temperature: echo.temperature,
            reasoning: echo.reasoning,
            usage: None,
            max_output_tokens: echo.max_output_tokens,
            max_tool_calls: echo.max_tool_calls,
            store: echo.store,
            background: echo.background,
            service_tier: "default",
            metadata: echo.metadata,
            safety_identifier: echo.safety_identifier,
            prompt_cache_key: echo.prompt_cache_key,
            input_messages: Vec::new(),
            output_messages: Vec::new(),
        }
    }
}

/// The answer to a question for the number of a prompt's tokens.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ResponseTokenCount")]
pub struct CountedInput {
    object: &'static str,
    input_tokens: usize,
}

/// The body that answers a request to count tokens. Nothing is left out of a response's conversation.
pub fn counted(input_tokens: usize, _whole: Option<usize>) -> CountedInput {
    CountedInput { object: "response.input_tokens", input_tokens }
}
