//! What a parser is told of a request.

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
