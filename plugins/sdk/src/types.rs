//! The types of `wit/parser-0.1/parser.wit` in plain Rust, under the same names; that file says what each means.
//!
//! Authors use them directly; `component` converts them to and from the generated bindings on wasm32.

/// Description of a parser: its name, the models that it serves, and the markers that the host finds for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Descriptor {
    /// Name of the parser, e.g. `qwen3`.
    pub name: String,
    /// Version of the plugin (semver).
    pub version: String,
    /// `model_type` values of `config.json` that this parser serves (for `--parser auto`).
    pub models: Vec<String>,
    /// Literals that carry structure, e.g. `<think>`: the host finds them in the stream and passes them on by index. No literal is
    /// empty, and all are different.
    pub markers: Vec<String>,
    /// Indices in `markers` of those that end the model's turn.
    pub stops: Vec<u32>,
    /// Items whose white space at both ends is dropped by the host.
    pub trim: Trim,
    /// Pattern by which ids of earlier calls are spelt in prompts, with `{name}` and `{index}`; `None` leaves the ids as they are.
    pub history_call_ids: Option<String>,
}

/// Which items lose the white space at their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trim {
    /// Reasoning items.
    pub reasoning: bool,
    /// Messages.
    pub content: bool,
}

/// How a tool takes its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// JSON arguments that follow a schema.
    Function,
    /// Free text, which may have a grammar.
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
    /// What the tool does, in words for the model.
    pub description: String,
    /// How the tool takes its input.
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
    /// No calls. Only `constrain` is told so: a stream's parser is started with `Auto`, and the host drops the calls that it reads.
    None,
    /// At least one call.
    Required,
    /// A call of the tool of this name.
    Named(String),
}

/// What a parser is told of the request it serves.
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
    /// Grammar that the final message must satisfy instead of a schema, `lark` or `regex` (for `constrain`).
    pub response_grammar: Option<Grammar>,
    /// Indices of the markers that come as tokens of their own: text can't spell them ([`crate::Output::ends_strings`]).
    pub token_markers: Vec<u32>,
    /// Names and values of the operator's settings, and of those template arguments that the operator allows requests to set.
    pub options: Vec<(String, String)>,
}

/// Which part of the answer a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The format doesn't say.
    #[default]
    Unspecified,
    /// A preamble that the model writes beside tool calls.
    Commentary,
    /// The answer.
    Final,
}

/// Type of a tool call's arguments after decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// JSON text.
    Json,
    /// Plain text.
    Text,
}

/// Name and payload of a tool call, which are known when the call opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Name, without the format's own prefix; never empty.
    pub name: String,
    /// Type of the arguments after decoding.
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
    /// Arguments that the host escapes and writes as the inside of a JSON string.
    ArgumentsEscaped,
    /// Arguments that are the inside of a JSON string, which the host decodes.
    ArgumentsUnescaped,
    /// Markup, which is shown to nobody.
    Drop,
}

/// The next `bytes` held bytes go to `route`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Where the bytes go.
    pub route: Route,
    /// Number of held bytes, oldest first.
    pub bytes: u32,
}

/// What to do with the bytes that the host holds for this stream, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Routes the oldest held bytes. Bytes that no run takes stay held.
    Bytes(Run),
    /// All text up to the next marker goes to this route: the host doesn't call the parser before that marker.
    UntilMarker(Route),
    /// Closes the open item; content that follows is a new message of this phase.
    Message(Phase),
    /// Closes the open item and opens a tool call.
    ToolCall(ToolCall),
    /// The open item is complete.
    Close,
    /// Argument text that the parser writes itself (the host bounds its length).
    DerivedArguments(String),
    /// All text up to the next marker or the first of these bytes goes to this route: the host doesn't call the parser before that.
    UntilByte(Until),
    /// The model began a call and broke off before the call's name: if the model ended the turn by itself, the turn fails.
    BrokenCall,
    /// The rest of a JSON value goes to this route. The host calls the parser again with the bracket that closes the value, or with
    /// a marker that stands outside the value's strings.
    UntilJson(JsonRest),
}

/// A route for text up to the first of `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until {
    /// Where the text goes.
    pub route: Route,
    /// The bytes that end the text: ASCII, 1 to 16 of them.
    pub bytes: &'static str,
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

/// The rest of a JSON object or list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonRest {
    /// Where the text goes.
    pub route: Route,
    /// Number of the value's brackets that are open, 1 or more.
    pub depth: u32,
    /// Whether a string of the value is open, too.
    pub in_string: InString,
}

/// A parser's answer to one delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// All held bytes go where the last run went.
    Pass,
    /// No decision yet: the host keeps the bytes.
    Hold,
    /// Ops, applied in order.
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
