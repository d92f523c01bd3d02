//! Conversation of a request, in the form that every protocol's reader makes: messages and tools,
//! before any template. All text in it comes from the request.

use super::content::Content;

/// Conversation that the model continues.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conversation {
    /// Messages, oldest first.
    pub messages: Vec<ChatMessage>,
    /// Tools shown to the model.
    pub tools: Vec<ToolDeclaration>,
}

/// Role of a message's author. It is one of these roles, never free text of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions to the model.
    System,
    /// Instructions by the application. Templates that don't know the role get `system`.
    Developer,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool, with the result of a call.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Role of the author.
    pub role: Role,
    /// Content of the message; empty for an assistant message that holds only calls.
    pub content: Content,
    /// The model's reasoning, where the client sent it back.
    pub reasoning: Option<String>,
    /// Calls that the assistant made in this message.
    pub tool_calls: Vec<HistoryCall>,
    /// For `Role::Tool`: id of the call whose result this is.
    pub tool_call_id: Option<String>,
    /// For `Role::Tool`: name of the tool, where known.
    pub name: Option<String>,
    /// Whether the message is the summary of what a compaction removed before it. A later
    /// compaction replaces it.
    pub is_summary: bool,
}

impl ChatMessage {
    /// Makes a message that holds only text.
    pub fn text(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into(),
            reasoning: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            is_summary: false,
        }
    }
}

/// Call of a tool in an earlier message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryCall {
    /// Id of the call, as the client knows it.
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
