//! What the model wrote in one turn, as messages of the conversation that the next turn continues: reasoning, then text, then calls
//! with their results; whatever comes in another order begins a new message, so that nothing changes places.

use crate::prompt::{HistoryCall, Message, Role};
use crate::turn::{ItemHead, TurnEvent};

/// One turn.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    messages: Vec<Message>,
    /// Where text goes.
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
    /// Takes an event of the turn. Calls for the client leave no trace: a turn with one isn't continued here.
    pub(super) fn event(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Open(ItemHead::Reasoning) => {
                let fits = |last: &Message| last.content.is_empty() && last.tool_calls.is_empty();
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

    /// A call to a tool of the server.
    pub(super) fn call(&mut self, id: String, name: String, arguments: String) {
        self.last(|_| true).tool_calls.push(HistoryCall { id, name, arguments });
    }

    /// The last message if `fits`, else a new one.
    fn last(&mut self, fits: impl Fn(&Message) -> bool) -> &mut Message {
        if !self.messages.last().is_some_and(fits) {
            self.messages.push(Message::text(Role::Assistant, ""));
        }
        self.messages.last_mut().expect("one was pushed if there was none")
    }

    /// The messages, each call's result behind the message with the call. `result` gives a call's.
    pub(super) fn into_messages(self, mut result: impl FnMut(&str) -> String) -> Vec<Message> {
        let mut all = Vec::new();
        for message in self.messages {
            let results: Vec<Message> = message
                .tool_calls
                .iter()
                .map(|call| Message {
                    tool_call_id: Some(call.id.clone()),
                    name: Some(call.name.clone()),
                    ..Message::text(Role::Tool, result(&call.id))
                })
                .collect();
            all.push(message);
            all.extend(results);
        }
        all
    }
}
