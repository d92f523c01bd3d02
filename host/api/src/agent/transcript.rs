//! The text of one turn as messages of the conversation, for the next turn. A message holds
//! reasoning, then text, then calls; their results follow it. Output in another order begins a new
//! message, so that the order is kept.

use prompt::{ChatMessage, HistoryCall, Role};
use turn::{ItemHead, TurnEvent};

/// Messages of one turn.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    messages: Vec<ChatMessage>,
    /// Part of the last message that text is appended to.
    open: OpenProse,
}

#[derive(Debug, Default, Clone, Copy)]
enum OpenProse {
    #[default]
    Nothing,
    Reasoning,
    Content,
}

impl Transcript {
    /// Takes an event of the turn. Calls for the client are skipped: a turn with such a call isn't
    /// continued here.
    pub(super) fn event(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Open(ItemHead::Reasoning) => {
                let fits = |last: &ChatMessage| last.content.is_empty() && last.tool_calls.is_empty();
                let reasoning = &mut self.last(fits).reasoning;
                match reasoning {
                    Some(before) => before.push('\n'),
                    none => *none = Some(String::new()),
                }
                self.open = OpenProse::Reasoning;
            }
            TurnEvent::Open(ItemHead::Message { .. }) => {
                self.last(|last| last.content.is_empty() && last.tool_calls.is_empty());
                self.open = OpenProse::Content;
            }
            TurnEvent::Open(ItemHead::ToolCall { .. }) | TurnEvent::Close(_) => {
                self.open = OpenProse::Nothing;
            }
            TurnEvent::Text(delta) => self.text(delta),
            _ => {}
        }
    }

    fn text(&mut self, delta: &str) {
        let Some(last) = self.messages.last_mut() else { return };
        match self.open {
            OpenProse::Nothing => {}
            OpenProse::Reasoning => last.reasoning.get_or_insert_default().push_str(delta),
            OpenProse::Content => last.content.push_str(delta),
        }
    }

    /// Adds a call to a tool of the server.
    pub(super) fn call(&mut self, id: String, name: String, arguments: String) {
        self.last(|_| true).tool_calls.push(HistoryCall { id, name, arguments });
    }

    /// Returns the last message if `fits` accepts it, else a new one.
    fn last(&mut self, fits: impl Fn(&ChatMessage) -> bool) -> &mut ChatMessage {
        if !self.messages.last().is_some_and(fits) {
            self.messages.push(ChatMessage::text(Role::Assistant, ""));
        }
        self.messages.last_mut().expect("one was pushed if there was none")
    }

    /// Returns the messages, with each call's result after the message of the call. `result`
    /// returns a call's result.
    pub(super) fn into_messages(self, mut result: impl FnMut(&str) -> String) -> Vec<ChatMessage> {
        let mut all = Vec::new();
        for message in self.messages {
            let results: Vec<ChatMessage> = message
                .tool_calls
                .iter()
                .map(|call| ChatMessage {
                    tool_call_id: Some(call.id.clone()),
                    name: Some(call.name.clone()),
                    ..ChatMessage::text(Role::Tool, result(&call.id))
                })
                .collect();
            all.push(message);
            all.extend(results);
        }
        all
    }
}
