//! What a request demands of a turn.

use contract::ToolKind;

/// What a request demands of a turn: of its calls, and of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Demand {
    /// Declared tools.
    pub tools: Vec<ToolDefinition>,
    /// Which of the tools may or must be called.
    pub tool_choice: ToolChoice,
    /// Whether several calls in one turn are allowed.
    pub parallel_tool_calls: bool,
    /// Whether reasoning is told from what follows it, so that it can be ended from outside. It comes
    /// once then, at the turn's beginning, and ends before the turn does.
    pub bounds_reasoning: bool,
    /// How far calls are held of which the request demands nothing: said by who serves the model.
    pub call_form: CallForm,
    /// JSON schema that the answer must satisfy, unless it is a call.
    pub response_schema: Option<String>,
    /// Grammar that the answer must satisfy instead of a schema, unless it is a call.
    pub response_grammar: Option<TextGrammar>,
}

impl Demand {
    /// Whether the request itself gives a form to calls: a tool is strict, or its input has a grammar.
    pub fn has_strict_tools(&self) -> bool {
        self.tools.iter().any(|tool| tool.strict || tool.grammar.is_some())
    }
}

/// How far calls are held of which the request demands nothing: those that the model may make of
/// tools that aren't strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallForm {
    /// Not at all.
    #[default]
    Free,
    /// A call names a declared tool, and its arguments are a JSON object, which has the schema's
    /// keys alone where the schema allows no others.
    Envelope,
    /// The arguments follow the schema, as far as it can be followed.
    Schema,
}

/// A tool as a request declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    /// Name of the tool, as the model is to write it.
    pub name: String,
    /// Function or custom.
    pub kind: ToolKind,
    /// JSON schema of the arguments (functions).
    pub schema: String,
    /// Whether arguments must satisfy the schema.
    pub strict: bool,
    /// Grammar of the input (custom tools).
    pub grammar: Option<TextGrammar>,
}

/// A grammar of text: of a custom tool's input, or of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextGrammar {
    /// `lark` or `regex`.
    pub syntax: String,
    /// Text of the grammar.
    pub definition: String,
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
