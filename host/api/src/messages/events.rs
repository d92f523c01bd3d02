//! The protocol's objects, built from plain values: events of a stream with borrowed text, and the
//! whole message.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::value::RawValue;

use super::error::ErrorObject;
use super::fields::WEB_SEARCH;
use super::search::{self, SearchOutcome};
use crate::agent::{CallKind, Called, Cleared};
use crate::event_buffer::EventBuffer;
use crate::schema::AnswerSchemas;

/// An event of a stream.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessageStreamEvent")]
pub(super) enum Event<'a> {
    /// The message before its content.
    MessageStart { message: Message<'a> },
    /// A block begins, empty.
    ContentBlockStart { index: usize, content_block: &'a Block },
    /// More of the open block.
    ContentBlockDelta { index: usize, delta: Delta<'a> },
    /// The open block is whole.
    ContentBlockStop { index: usize },
    /// The server lives.
    Ping,
    /// Why it ended, and what it cost.
    MessageDelta {
        delta: Stop<'a>,
        usage: Usage,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_management: Option<&'a ContextManagement>,
    },
    /// The end.
    MessageStop,
    /// The end of an answer that failed.
    Error { error: ErrorObject<'a>, request_id: &'a str },
}

impl Event<'_> {
    /// Appends the event under its name.
    pub(super) fn send(&self, buffer: &mut EventBuffer) {
        let name = match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::Ping => "ping",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
            Self::Error { .. } => "error",
        };
        buffer.push(Some(name), self);
    }
}

/// The message, whole or at its start.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "type")]
    #[schemars(extend("const" = "message"))]
    pub(super) kind: &'static str,
    #[schemars(extend("const" = "assistant"))]
    pub(super) role: &'static str,
    pub(super) model: &'a str,
    pub(super) content: &'a [Block],
    #[serde(flatten)]
    pub(super) stop: Stop<'a>,
    pub(super) usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context_management: Option<&'a ContextManagement>,
}

impl<'a> Message<'a> {
    /// A message of the assistant.
    pub(super) fn new(
        id: &'a str,
        model: &'a str,
        content: &'a [Block],
        stop: Stop<'a>,
        usage: Usage,
    ) -> Self {
        Self { id, kind: "message", role: "assistant", model, content, stop, usage, context_management: None }
    }
}

/// What was left out of the conversation.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "MessageContextManagement")]
pub(super) struct ContextManagement {
    pub(super) applied_edits: Vec<AppliedEdit>,
}

/// An edit that applied.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "type")]
#[schemars(rename = "MessageAppliedEdit")]
pub(super) enum AppliedEdit {
    /// Of results of tools.
    #[serde(rename = "clear_tool_uses_20250919")]
    ClearToolUses { cleared_tool_uses: usize, cleared_input_tokens: usize },
    /// Of thoughts.
    #[serde(rename = "clear_thinking_20251015")]
    ClearThinking { cleared_thinking_turns: usize, cleared_input_tokens: usize },
}

impl AppliedEdit {
    /// What was left out.
    pub(super) fn of(cleared: &Cleared) -> Self {
        let Cleared { thoughts, number, tokens } = *cleared;
        if thoughts {
            Self::ClearThinking { cleared_thinking_turns: number, cleared_input_tokens: tokens }
        } else {
            Self::ClearToolUses { cleared_tool_uses: number, cleared_input_tokens: tokens }
        }
    }
}

/// Why the answer ended; all null until it has.
#[derive(Debug, Clone, Copy, Default, JsonSchema, Serialize)]
#[schemars(rename = "MessageEnd")]
pub(super) struct Stop<'a> {
    pub(super) stop_reason: Option<&'static str>,
    pub(super) stop_sequence: Option<&'a str>,
}

/// A block of content.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "MessageBlock")]
pub(super) enum Block {
    /// Reasoning; the signature comes at its end.
    Thinking { thinking: String, signature: String },
    /// Text for the user.
    Text { text: String },
    /// A call that the server runs, of a tool of `server_name`.
    McpToolUse {
        id: String,
        name: String,
        server_name: String,
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        input: Box<RawValue>,
    },
    /// Its result.
    McpToolResult { tool_use_id: String, is_error: bool, content: [TextContent; 1] },
    /// A search of the web that the server runs.
    ServerToolUse {
        id: String,
        #[schemars(extend("const" = "web_search"))]
        name: &'static str,
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        input: Box<RawValue>,
    },
    /// What it found.
    WebSearchToolResult { tool_use_id: String, content: SearchOutcome },
    /// A summary of the conversation, before the answer or in its place; null where none came of it.
    Compaction { content: Option<String> },
    /// A call; `input` is JSON as the model wrote it.
    ToolUse {
        id: String,
        name: String,
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        input: Box<RawValue>,
    },
}

impl Block {
    /// The beginning of a call that the server runs.
    pub(super) fn of_call(id: &str, called: &Called) -> Self {
        if called.kind == CallKind::Search {
            Self::ServerToolUse { id: search::block_id(id), name: WEB_SEARCH, input: no_input() }
        } else {
            let (name, server_name) = (called.name.clone(), called.server.clone());
            Self::McpToolUse { id: id.to_owned(), name, server_name, input: no_input() }
        }
    }

    /// Whether it is the call of this id that the server runs.
    pub(super) fn is_call(&self, call_id: &str) -> bool {
        match self {
            Self::McpToolUse { id, .. } => id == call_id,
            Self::ServerToolUse { id, .. } => *id == search::block_id(call_id),
            _ => false,
        }
    }
}

/// Text of a result.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "type", rename = "text")]
#[schemars(rename = "MessageResultText", transform = crate::schema::tagged("text"))]
pub(super) struct TextContent {
    pub(super) text: String,
}

/// `{}`, the input of a call until the call is complete.
///
/// # Panics
/// Never: it is JSON.
pub(super) fn no_input() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an object")
}

/// What a delta adds to the open block.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(tag = "type")]
#[schemars(rename = "MessageBlockDelta")]
pub(super) enum Delta<'a> {
    /// To a text.
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    /// To thinking.
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    /// The summary, whole.
    #[serde(rename = "compaction_delta")]
    Compaction { content: Option<&'a str> },
    /// The signature of thinking, whole.
    #[serde(rename = "signature_delta")]
    Signature { signature: &'a str },
    /// To a call's input.
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: &'a str },
}

/// Tokens. The prompt's are those of the first three fields together.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "MessageUsage")]
pub(super) struct Usage {
    input_tokens: u32,
    /// Always 0: the prefix cache fills itself, and nobody pays for it.
    cache_creation_input_tokens: u32,
    cache_read_input_tokens: u32,
    output_tokens: u32,
    output_tokens_details: OutputTokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_tool_use: Option<ServerToolUses>,
}

/// Calls that the server ran.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "MessageServerToolUses")]
struct ServerToolUses {
    web_search_requests: usize,
    /// Always 0: the calls by which pages are opened are those of a tool server.
    web_fetch_requests: usize,
}

#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "MessageOutputTokens")]
struct OutputTokens {
    thinking_tokens: u32,
}

impl Usage {
    /// A prompt of `prompt` tokens, `cached` of them from the prefix cache; `output` tokens
    /// generated, `thinking` of them reasoning.
    pub(super) fn new(prompt: u32, cached: u32, output: u32, thinking: u32) -> Self {
        Self {
            input_tokens: prompt.saturating_sub(cached),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: cached,
            output_tokens: output,
            output_tokens_details: OutputTokens { thinking_tokens: thinking },
            server_tool_use: None,
        }
    }

    /// With this number of searches of the web, if there were any.
    pub(super) fn with_searches(self, web_search_requests: usize) -> Self {
        let uses = ServerToolUses { web_search_requests, web_fetch_requests: 0 };
        let uses = (web_search_requests > 0).then_some(uses);
        Self { server_tool_use: uses, ..self }
    }
}

/// The answer to a question for the number of a prompt's tokens.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "MessageTokenCount")]
pub(crate) struct Counted {
    input_tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_management: Option<CountedBefore>,
}

/// The number before anything was left out of the conversation.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "MessageTokenCountBefore")]
struct CountedBefore {
    original_input_tokens: usize,
}

/// The body that answers a request to count tokens; `whole`: their number before anything was left
/// out.
pub fn counted(input_tokens: usize, whole: Option<usize>) -> impl Serialize {
    let before = whole.map(|original_input_tokens| CountedBefore { original_input_tokens });
    Counted { input_tokens, context_management: before }
}

/// Schemas of the message and of the events.
pub(crate) fn answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let events = generator.subschema_for::<Event<'_>>().to_value();
    AnswerSchemas { events: Some(events), ..AnswerSchemas::whole::<Message<'_>>(generator) }
}
