//! Builds a conversation's messages from whatever a protocol's history consists of, in the shape that templates expect:
//! an assistant message is reasoning, then text, then calls. Things of one turn that come in this order join one message;
//! anything else begins a new one, so that nothing changes places.

use std::collections::HashMap;

use super::error::ApiError;
use super::json::{List, Path};
use crate::prompt::{HistoryCall, Message, Role};

/// 400 for a list of more than `max` messages or items; `path` is where it stands.
pub(crate) fn check_count(list: List<'_>, max: usize, path: Path<'_>) -> Result<(), ApiError> {
    if list.is_longer_than(max) {
        return Err(path.invalid(format_args!("at most {max} of them, got {}", list.len())));
    }
    Ok(())
}

/// Messages so far.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<Message>,
    /// Names of the tools that were called, by call id.
    called: HashMap<String, String>,
}

impl History {
    /// A message of anyone but assistant and tool.
    pub(crate) fn message(&mut self, role: Role, text: String) {
        self.messages.push(Message::text(role, text));
    }

    /// Reasoning of the model.
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

    /// Text of the model.
    pub(crate) fn assistant_text(&mut self, text: String) {
        let fits = |message: &Message| message.content.is_empty() && message.tool_calls.is_empty();
        self.assistant(fits).content = text;
    }

    /// A whole assistant message, as Chat Completions sends it.
    pub(crate) fn assistant_message(
        &mut self,
        text: String,
        reasoning: Option<String>,
        calls: Vec<HistoryCall>,
    ) {
        for call in &calls {
            self.called.insert(call.id.clone(), call.name.clone());
        }
        self.messages.push(Message { reasoning, tool_calls: calls, ..Message::text(Role::Assistant, text) });
    }

    /// A call by the model.
    pub(crate) fn call(&mut self, call: HistoryCall) {
        self.called.insert(call.id.clone(), call.name.clone());
        self.assistant(|_| true).tool_calls.push(call);
    }

    /// The result of the call `id`; the tool's name is looked up unless given.
    pub(crate) fn result(&mut self, id: Option<&str>, name: Option<&str>, text: String) {
        let name =
            name.or_else(|| id.and_then(|id| self.called.get(id)).map(String::as_str)).map(str::to_owned);
        let tool_call_id = id.map(str::to_owned);
        self.messages.push(Message { tool_call_id, name, ..Message::text(Role::Tool, text) });
    }

    /// The id of the last call of the tool `name`.
    pub(crate) fn last_call(&self, name: &str) -> Option<&str> {
        let calls = self.messages.iter().rev().flat_map(|message| message.tool_calls.iter().rev());
        calls.into_iter().find(|call| call.name == name).map(|call| call.id.as_str())
    }

    /// Messages so far.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// The last message if it is the assistant's and `fits`, else a new one.
    fn assistant(&mut self, fits: impl Fn(&Message) -> bool) -> &mut Message {
        let joins = self.messages.last().is_some_and(|last| last.role == Role::Assistant && fits(last));
        if !joins {
            self.messages.push(Message::text(Role::Assistant, ""));
        }
        self.messages.last_mut().expect("one was pushed if there was none")
    }

    /// Whether the conversation ends in reasoning that led to nothing: a stream that broke off.
    pub(crate) fn ends_in_bare_reasoning(&self) -> bool {
        self.messages.last().is_some_and(|last| {
            last.role == Role::Assistant
                && last.content.is_empty()
                && last.tool_calls.is_empty()
                && last.reasoning.is_some()
        })
    }

    /// Takes the last message away.
    pub(crate) fn drop_last(&mut self) {
        self.messages.pop();
    }

    /// The messages, oldest first.
    pub(crate) fn into_messages(self) -> Vec<Message> {
        self.messages
    }
}
