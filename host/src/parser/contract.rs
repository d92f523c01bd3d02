//! The parser contract in plain Rust: the types of `wit/parser-0.1/parser.wit`, under the same names, without Wasm.
//!
//! `turn` and the API know parsers only through this file; `parser::component` translates it to and from a component.
//! The meaning of each field and case stands in the WIT file and is not repeated here.

use serde::Deserialize;

/// What a parser is, and what it wants the host to recognise for it. As JSON it is a component's section `sluice-descriptor`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptor {
    /// Name of the parser, e.g. `qwen3`.
    pub name: String,
    /// Version of the plugin (semver).
    pub version: String,
    /// `model_type` values of `config.json` that it serves.
    pub models: Vec<String>,
    /// Literals that carry structure.
    pub markers: Vec<String>,
    /// Indices of the markers that end the model's turn.
    pub stops: Vec<u32>,
    /// Items whose white space at both ends is dropped by the host.
    pub trim: Trim,
    /// How ids of earlier calls are spelt for this model (`{name}`, `{index}`).
    pub history_call_ids: Option<String>,
}

/// Which items lose the white space at their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Trim {
    /// Reasoning items.
    pub reasoning: bool,
    /// Messages.
    pub content: bool,
}

/// How a tool takes its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// JSON arguments by a schema.
    Function,
    /// Free text, perhaps by a grammar.
    Custom,
}

/// A grammar for the input of a custom tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grammar {
    /// `lark` or `regex`.
    pub syntax: String,
    /// The grammar itself.
    pub definition: String,
}

/// A tool declared by the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Name, as the model is to write it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Function or custom.
    pub kind: ToolKind,
    /// JSON schema of the arguments (functions).
    pub parameters_json: String,
    /// Whether arguments must satisfy the schema.
    pub strict: bool,
    /// Grammar of the input (custom tools).
    pub grammar: Option<Grammar>,
}

/// Which tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No calls.
    None,
    /// At least one call.
    Required,
    /// This tool.
    Named(String),
}

/// What a parser is told of the request it serves.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Declared tools.
    pub tools: Vec<Tool>,
    /// Which of them may or must be called.
    pub tool_choice: ToolChoice,
    /// Whether several calls in one turn are allowed.
    pub parallel_tool_calls: bool,
    /// JSON schema of the final message (for `constrain`).
    pub response_schema: Option<String>,
    /// Grammar that it must satisfy instead, `lark` or `regex` (for `constrain`).
    pub response_grammar: Option<Grammar>,
    /// Indices of the markers that the model's tokenizer has as tokens: text can't spell them (for `constrain`).
    pub token_markers: Vec<u32>,
    /// Settings of the operator and allowed template arguments.
    pub options: Vec<(String, String)>,
}

/// Which part of the answer a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The format doesn't say.
    #[default]
    Unspecified,
    /// A preamble beside calls.
    Commentary,
    /// The answer.
    Final,
}

/// What a call's arguments are once decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// JSON text.
    Json,
    /// Plain text.
    Text,
}

/// The head of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Name, without the format's own prefix; never empty.
    pub name: String,
    /// Kind of its arguments.
    pub payload: Payload,
}

/// Where bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Text of a message.
    Content,
    /// Text of a reasoning item.
    Reasoning,
    /// Arguments of the open call, as they are.
    Arguments,
    /// Arguments that become the inside of a JSON string.
    ArgumentsEscaped,
    /// Arguments that are the inside of a JSON string, decoded by the host.
    ArgumentsUnescaped,
    /// Markup.
    Drop,
}

/// The next `bytes` held bytes go to `route`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Where to.
    pub route: Route,
    /// How many.
    pub bytes: u32,
}

/// What to do with the bytes that the host holds for this stream, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Routes bytes; what no run takes stays held.
    Bytes(Run),
    /// All text up to the next marker goes this way, without asking again.
    UntilMarker(Route),
    /// Closes what is open; content that follows is a new message of this phase.
    Message(Phase),
    /// Closes what is open and opens a tool call.
    ToolCall(ToolCall),
    /// The open item is complete.
    Close,
    /// Argument text that the parser writes itself (bounded).
    DerivedArguments(String),
    /// All text up to the next marker or the first of these bytes goes this way, without asking again.
    UntilByte(Until),
    /// The model began a call and broke off before its name: where it ended the turn by itself, the turn fails.
    BrokenCall,
    /// The rest of a JSON value goes this way, up to the bracket that closes it or a marker outside of its strings, without asking again.
    UntilJson(JsonRest),
}

/// Where text goes up to the first of `bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Until {
    /// Where to.
    pub route: Route,
    /// ASCII, 1 to 16 of them.
    pub bytes: String,
}

/// The rest of a JSON object or list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonRest {
    /// Where to.
    pub route: Route,
    /// Brackets of it that are open, 1 or more.
    pub depth: u32,
    /// Whether a string is, too.
    pub in_string: bool,
}

/// A parser's answer to one delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// All held bytes go where the last run went.
    Pass,
    /// Nothing yet.
    Hold,
    /// Several things in order.
    Ops(Vec<Op>),
    /// The parser can't go on.
    Fault(String),
}

/// Why the stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its turn (or a stop string was met).
    Stop,
    /// The token limit.
    Length,
    /// The client went away or the server stops.
    Cancelled,
}

/// A parser that failed: it said so, broke the contract, trapped, or used up a limit. It is never called again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parser {parser}: {reason}")]
pub struct Fault {
    /// Name of the parser.
    pub parser: String,
    /// What happened, in one line, without text of the stream.
    pub reason: String,
}

impl Fault {
    /// The fault of `parser` for `reason`.
    pub(super) fn new(parser: &str, reason: impl Into<String>) -> Self {
        Self { parser: parser.to_owned(), reason: reason.into() }
    }
}

/// What one instance has used, for the tools that judge parsers; nothing is counted where streams are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Instructions run, about.
    pub fuel: u64,
    /// Bytes of linear memory, the most so far.
    pub memory: usize,
}

/// The parser of one stream, after its `start`. Calls come in stream order; `finish` is the last.
pub trait StreamParser: Send {
    /// Text without any marker in it, never empty.
    fn text(&mut self, chunk: &str) -> Result<Step, Fault>;
    /// Marker `index` of the descriptor.
    fn marker(&mut self, index: u32) -> Result<Step, Fault>;
    /// The last step.
    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault>;
    /// What it has used so far, where its runtime counts ([`super::Runtime::pooled`]) and it can still be called.
    fn used(&self) -> Option<Used> {
        None
    }
}
