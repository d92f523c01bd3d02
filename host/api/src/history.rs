//! Builds a conversation's messages from the items or messages of a protocol, in the shape that
//! templates expect: an assistant message is reasoning, then text, then calls. Parts of one turn
//! that come in this order join one message; any other part begins a new message, so that the order
//! is kept.

use std::collections::HashMap;

use crate::agent::compact;
use prompt::{ChatMessage, Content, HistoryCall, Role};

/// Builder of a conversation's messages.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<ChatMessage>,
    /// Names of the tools that were called, by call id.
    called: HashMap<String, String>,
}

impl History {
    /// Adds a message of another role than assistant or tool.
    pub(crate) fn message(&mut self, role: Role, content: impl Into<Content>) {
        self.messages.push(ChatMessage::text(role, content));
    }

    /// Adds reasoning of the model.
    pub(crate) fn reasoning(&mut self, text: &str) {
        let message = self.assistant(|message| message.content.is_empty() && message.tool_calls.is_empty());
        match &mut message.reasoning {
            Some(reasoning) => {
                reasoning.push('\n');
                reasoning.push_str(text);
            }
            none => *none = Some(text.to_owned()),
        }
    }

    /// Adds text of the model.
    pub(crate) fn assistant_text(&mut self, content: Content) {
        let fits = |message: &ChatMessage| message.content.is_empty() && message.tool_calls.is_empty();
        self.assistant(fits).content = content;
    }

    /// Adds a whole assistant message, as Chat Completions has it.
    pub(crate) fn assistant_message(
        &mut self,
        content: Content,
        reasoning: Option<String>,
        calls: Vec<HistoryCall>,
    ) {
        for call in &calls {
            self.called.insert(call.id.clone(), call.name.clone());
        }
        self.messages.push(ChatMessage {
            reasoning,
            tool_calls: calls,
            ..ChatMessage::text(Role::Assistant, content)
        });
    }

    /// Adds a call by the model.
    pub(crate) fn call(&mut self, call: HistoryCall) {
        self.called.insert(call.id.clone(), call.name.clone());
        self.assistant(|_| true).tool_calls.push(call);
    }

    /// Adds the result of the call `id`. The tool's name is that of the call, unless `name` is
    /// given.
    pub(crate) fn result(&mut self, id: Option<&str>, name: Option<&str>, content: impl Into<Content>) {
        let name =
            name.or_else(|| id.and_then(|id| self.called.get(id)).map(String::as_str)).map(str::to_owned);
        let tool_call_id = id.map(str::to_owned);
        self.messages.push(ChatMessage { tool_call_id, name, ..ChatMessage::text(Role::Tool, content) });
    }

    /// Replaces what came before, but instructions and users' messages, by its summary.
    pub(crate) fn compact(&mut self, summary: &str) {
        compact(&mut self.messages, summary);
    }

    /// Whether a call has this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.called.contains_key(id)
    }

    /// The id of the last call of the tool `name`.
    pub(crate) fn last_call(&self, name: &str) -> Option<&str> {
        let calls = self.messages.iter().rev().flat_map(|message| message.tool_calls.iter().rev());
        calls.into_iter().find(|call| call.name == name).map(|call| call.id.as_str())
    }

    /// Number of messages so far.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// The last message if it is the assistant's and `fits`, else a new one.
    fn assistant(&mut self, fits: impl Fn(&ChatMessage) -> bool) -> &mut ChatMessage {
        let joins = self.messages.last().is_some_and(|last| last.role == Role::Assistant && fits(last));
        if !joins {
            self.messages.push(ChatMessage::text(Role::Assistant, ""));
        }
        self.messages.last_mut().expect("one was pushed if there was none")
    }

    /// Whether the conversation ends in reasoning without text or calls behind it, as a stream that
    /// broke off leaves it.
    pub(crate) fn ends_in_bare_reasoning(&self) -> bool {
        self.messages.last().is_some_and(|last| {
            last.role == Role::Assistant
                && last.content.is_empty()
                && last.tool_calls.is_empty()
                && last.reasoning.is_some()
        })
    }

    /// Removes the last message.
    pub(crate) fn drop_last(&mut self) {
        self.messages.pop();
    }

    /// The messages, oldest first.
    pub(crate) fn into_messages(self) -> Vec<ChatMessage> {
        self.messages
    }
}
