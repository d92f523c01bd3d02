//! The parser contract in plain Rust: the types of `wit/parser-0.1/parser.wit`, under the same names, without Wasm.
//!
//! `turn` and the API know parsers only through this file; `parser::component` translates it to and from a component.
//! The WIT file gives the full meaning of each field and case.

use serde::Deserialize;

/// Description of a parser, with the markers that the host finds for it. As JSON it is a component's section `sluice-descriptor`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descriptor {
    /// Name of the parser, e.g. `qwen3`.
    pub name: String,
    /// Version of the plugin (semver).
    pub version: String,
    /// `model_type` values of `config.json` that the parser serves.
    pub models: Vec<String>,
    /// Marker literals, which carry structure.
    pub markers: Vec<String>,
    /// Indices of the markers that end the model's turn.
    pub stops: Vec<u32>,
    /// Items whose white space at both ends is dropped by the host.
    pub trim: Trim,
    /// Pattern for the ids of earlier calls in this model's prompts (`{name}`, `{index}`); `None` leaves them as they are.
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

/// Kind of a tool's input.
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
    /// Text of the grammar.
    pub definition: String,
}

/// A tool declared by the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Name of the tool, as the model is to write it.
    pub name: String,
    /// Description of what the tool does.
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
    /// A call of this tool.
    Named(String),
}

/// Parts of a request that its parser is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Declared tools.
    pub tools: Vec<Tool>,
    /// Which of the tools may or must be called.
    pub tool_choice: ToolChoice,
    /// Whether several calls in one turn are allowed.
    pub parallel_tool_calls: bool,
    /// JSON schema of the final message (for `constrain`).
    pub response_schema: Option<String>,
    /// Grammar that the final message must satisfy instead, `lark` or `regex` (for `constrain`).
    pub response_grammar: Option<Grammar>,
    /// Indices of the markers that come as tokens of their own: text can't spell them, and they end a string of a call's JSON.
    pub token_markers: Vec<u32>,
    /// Settings of the operator, and template arguments that the operator lets requests set.
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

/// Kind of a call's arguments, once decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// JSON text.
    Json,
    /// Plain text.
    Text,
}

/// Head of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Name of the tool, without the format's own prefix; never empty.
    pub name: String,
    /// Kind of the arguments.
    pub payload: Payload,
}

/// Destination of bytes.
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

/// Run: the next held bytes, and their route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Route of the bytes.
    pub route: Route,
    /// Number of bytes.
    pub bytes: u32,
}

/// Operation on the bytes that the host holds for this stream, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Routes the next bytes; bytes that no run takes stay held.
    Bytes(Run),
    /// Routes all text up to the next marker, without asking the parser again.
    UntilMarker(Route),
    /// Closes the open item; content that follows is a new message of this phase.
    Message(Phase),
    /// Closes the open item and opens a tool call.
    ToolCall(ToolCall),
    /// Closes the open item, which is complete.
    Close,
    /// Argument text that the parser writes itself (bounded).
    DerivedArguments(String),
    /// Routes all text up to the next marker or the first of these bytes, without asking the parser again.
    UntilByte(Until),
    /// The model began a call and broke off before its name: if it ended the turn by itself, the turn fails.
    BrokenCall,
    /// Routes the rest of a JSON value, up to the bracket that closes it or a marker outside of its strings, without asking the parser again.
    UntilJson(JsonRest),
}

/// Route of the text up to the first of `bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Until {
    /// Route of the text.
    pub route: Route,
    /// 1 to 16 ASCII characters.
    pub bytes: String,
}

/// Where the next byte of a JSON value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InString {
    /// Outside of the value's strings.
    #[default]
    No,
    /// Inside a string.
    Yes,
    /// Behind a backslash inside a string.
    AfterBackslash,
}

/// Route of the rest of a JSON object or list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonRest {
    /// Route of the rest.
    pub route: Route,
    /// Number of its brackets that are open, 1 or more.
    pub depth: u32,
    /// Whether a string is open, too.
    pub in_string: InString,
}

/// A parser's answer to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Routes all held bytes where the last run went.
    Pass,
    /// Decides nothing yet; the bytes stay held.
    Hold,
    /// Operations, applied in order.
    Ops(Vec<Op>),
    /// The parser can't go on, for this reason.
    Fault(String),
}

/// Reason why the stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its turn (or a stop string was met).
    Stop,
    /// The token limit was reached.
    Length,
    /// The client went away or the server stops.
    Cancelled,
}

/// Failure of a parser: it gave up, broke the contract, trapped, or used up a limit. The parser is never called again. Its size counts, since
/// every call may return one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parser {parser}: {reason}")]
pub struct Fault {
    /// Name of the parser.
    pub parser: Box<str>,
    /// Reason in one line, without text of the stream or the request.
    pub reason: Box<str>,
    /// The parser's own words in one line, for its author. They may quote the stream, so no log and no client has them.
    pub words: Box<str>,
}

impl Fault {
    pub(crate) fn new(parser: &str, reason: impl Into<Box<str>>) -> Self {
        Self { parser: parser.into(), reason: reason.into(), words: Box::default() }
    }

    /// Reason and words, for the parser's author.
    pub fn in_full(&self) -> String {
        if self.words.is_empty() {
            self.reason.to_string()
        } else {
            format!("{}: {}", self.reason, self.words)
        }
    }
}

/// Resources that one instance has used, for the tools that test parsers. Instances that serve streams aren't metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceUsage {
    /// Approximate number of instructions run.
    pub fuel: u64,
    /// Largest size of linear memory so far, in bytes.
    pub memory: usize,
}

/// The parser of one stream, after its `start`. Calls come in stream order; `finish` is the last.
pub trait StreamParser: Send {
    /// Takes text without any marker in it, never empty.
    fn text(&mut self, chunk: &str) -> Result<Step, Fault>;
    /// Takes marker `index` of the descriptor.
    fn marker(&mut self, index: u32) -> Result<Step, Fault>;
    /// Ends the stream and returns the last step.
    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault>;
    /// Resources used so far, if the runtime meters instances ([`super::Runtime::pooled`]) and this one can still be called.
    fn usage(&self) -> Option<ResourceUsage> {
        None
    }
}
