//! A conversation as every protocol hands it over: messages and tools, before any template. All text in it comes from the request.

/// What the model is to continue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// Messages, oldest first.
    pub messages: Vec<Message>,
    /// Tools shown to the model.
    pub tools: Vec<ToolDeclaration>,
}

/// Who speaks. Roles are ours, never free text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions.
    System,
    /// Instructions by the application (`system` for templates that don't know the role).
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a call.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its text; empty for an assistant message that is calls only.
    pub content: String,
    /// The model's reasoning, where the client sent it back.
    pub reasoning: Option<String>,
    /// Calls that the assistant made here.
    pub tool_calls: Vec<HistoryCall>,
    /// For `Role::Tool`: the call that this answers.
    pub tool_call_id: Option<String>,
    /// For `Role::Tool`: the tool's name, where known.
    pub name: Option<String>,
}

impl Message {
    /// A message of text only.
    pub fn text(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
        }
    }
}

/// A call in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCall {
    /// The id that the client knows.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as sent: JSON text, possibly malformed.
    pub arguments: String,
}

/// A tool as templates see it (`{"type": "function", "function": {…}}`).
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    /// Name of the function.
    pub name: String,
    /// The whole declaration in Chat Completions' shape, as JSON; key order is kept.
    pub declaration: String,
}
