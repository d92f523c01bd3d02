//! Changes of conversations for templates that can't take them as they are. Templates are written
//! for the turns that their own models make; agents send others: several messages of instructions,
//! some of them late, text beside reasoning and a call, several calls at once. For these, templates
//! raise an exception or silently leave text out.
//!
//! No template is known by name: at load each change is tried with a probe, and kept only if the
//! template shows the probe in full with the change and doesn't without it. Invariant: what a
//! template shows as it is stays as it is, and a change loses no text. Called by `render`.

use std::borrow::Cow;
use std::fmt;

use super::conversation::{ChatMessage, Conversation, HistoryCall, Role};

/// One change of a conversation that a template may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Instructions by the application get the role `system`.
    DeveloperIsSystem,
    /// Messages of instructions at the beginning are joined into one.
    InstructionsAreOne,
    /// Instructions after the first message of another role get the role `user`.
    LateInstructionsAreUsers,
    /// Messages of users in a row are joined into one.
    UsersAreOne,
    /// Text of a message with reasoning and calls is appended to the reasoning.
    TextFollowsReasoning,
    /// Each call becomes a message of its own, followed by its result.
    OneCallPerMessage,
}

const CHANGES: [Change; 6] = [
    Change::DeveloperIsSystem,
    Change::InstructionsAreOne,
    Change::LateInstructionsAreUsers,
    Change::UsersAreOne,
    Change::TextFollowsReasoning,
    Change::OneCallPerMessage,
];

/// Changes that a template needs, in the order in which they are applied.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct TemplateChanges(Vec<Change>);

impl TemplateChanges {
    /// Finds the changes that a template needs. `rendered` returns the template's output for a
    /// conversation; `None` if it raises.
    pub(super) fn detect(rendered: impl Fn(&Conversation) -> Option<String>) -> Self {
        let mut changes = Self::default();
        for change in CHANGES {
            let (probe, words) = change.probe();
            let text = |changes: &Self| rendered(&changes.apply(&probe));
            let shows = |text: &String| words.iter().all(|word| text.contains(word));
            let with = Self([changes.0.as_slice(), &[change]].concat());
            if change.is_needed(text(&changes).map(|text| shows(&text)))
                && text(&with).is_some_and(|text| shows(&text))
            {
                changes = with;
            }
        }
        changes
    }

    /// Whether the template needs no change.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the conversation in a form that the template takes.
    pub(super) fn apply<'a>(&self, conversation: &'a Conversation) -> Cow<'a, Conversation> {
        if self.is_empty() {
            return Cow::Borrowed(conversation);
        }
        let apply = |messages, change: &Change| change.apply(messages);
        let messages = self.0.iter().fold(conversation.messages.clone(), apply);
        Cow::Owned(Conversation { messages, tools: conversation.tools.clone() })
    }
}

/// Form of the field `fit` in the log line of the start, which keeps the name that operators know.
impl fmt::Debug for TemplateChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fit").field(&self.0).finish()
    }
}

impl Change {
    /// Whether the template needs the change. `shown` says whether it shows the probe in full
    /// without the change; `None` if it raises.
    fn is_needed(self, shown: Option<bool>) -> bool {
        match self {
            // A template that leaves such text out does so because its model never saw text there.
            Self::TextFollowsReasoning => shown.is_none(),
            _ => shown != Some(true),
        }
    }

    fn apply(self, mut messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
        match self {
            Self::DeveloperIsSystem => {
                messages.iter_mut().filter(|message| message.role == Role::Developer).for_each(become_system);
            }
            Self::InstructionsAreOne => join_instructions(&mut messages),
            Self::LateInstructionsAreUsers => {
                let late = messages.iter_mut().skip_while(|message| is_instruction(message));
                late.filter(|message| is_instruction(message)).for_each(|message| message.role = Role::User);
            }
            Self::UsersAreOne => join_users(&mut messages),
            Self::TextFollowsReasoning => messages.iter_mut().for_each(join_text),
            Self::OneCallPerMessage => return split_calls(messages),
        }
        messages
    }

    /// Returns a conversation that shows whether the change is needed, and the words that the
    /// template has to show.
    fn probe(self) -> (Conversation, &'static [&'static str]) {
        let text = |role, text: &str| ChatMessage::text(role, text);
        let user = || text(Role::User, "zq0");
        let messages = match self {
            Self::DeveloperIsSystem => vec![text(Role::Developer, "zq1"), user()],
            Self::InstructionsAreOne => {
                vec![text(Role::System, "zq1"), text(Role::Developer, "zq2"), user()]
            }
            Self::LateInstructionsAreUsers => {
                vec![user(), text(Role::System, "zq1"), text(Role::Developer, "zq2"), user()]
            }
            Self::UsersAreOne => vec![user(), text(Role::User, "zq1"), text(Role::User, "zq2")],
            Self::TextFollowsReasoning => {
                let reasoning = Some("zq3".to_owned());
                let said = ChatMessage { reasoning, ..calling("zq1", &["zq2"]) };
                vec![user(), said, result("zq2")]
            }
            Self::OneCallPerMessage => {
                vec![user(), calling("", &["zq1", "zq2"]), result("zq1"), result("zq2")]
            }
        };
        let words =
            if self == Self::DeveloperIsSystem { &["zq0", "zq1"][..] } else { &["zq0", "zq1", "zq2"] };
        (Conversation { messages, tools: Vec::new() }, words)
    }
}

fn calling(text: &str, names: &[&str]) -> ChatMessage {
    let call = |name: &&str| HistoryCall {
        id: format!("call_{name}"),
        name: (*name).to_owned(),
        arguments: "{}".to_owned(),
    };
    ChatMessage { tool_calls: names.iter().map(call).collect(), ..ChatMessage::text(Role::Assistant, text) }
}

fn result(name: &str) -> ChatMessage {
    let tool_call_id = Some(format!("call_{name}"));
    ChatMessage { tool_call_id, name: Some(name.to_owned()), ..ChatMessage::text(Role::Tool, "done") }
}

fn is_instruction(message: &ChatMessage) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

fn become_system(message: &mut ChatMessage) {
    message.role = Role::System;
}

fn join_instructions(messages: &mut Vec<ChatMessage>) {
    let count = messages.iter().take_while(|message| is_instruction(message)).count();
    if count > 1 {
        let mut text = std::mem::take(&mut messages[0].content).into_joined();
        for message in messages.drain(1..count) {
            append(&mut text, message.content.joined());
        }
        messages[0].content = text.into();
    }
}

fn join_users(messages: &mut Vec<ChatMessage>) {
    messages.dedup_by(|next, previous| {
        let joins = previous.role == Role::User && next.role == Role::User;
        if joins {
            let mut text = std::mem::take(&mut previous.content).into_joined();
            append(&mut text, next.content.joined());
            previous.content = text.into();
        }
        joins
    });
}

fn join_text(message: &mut ChatMessage) {
    if let Some(reasoning) = &mut message.reasoning
        && !message.tool_calls.is_empty()
    {
        append(reasoning, std::mem::take(&mut message.content).joined());
    }
}

/// Appends `text` as a further paragraph; nothing if `text` is empty.
fn append(to: &mut String, text: &str) {
    if !to.is_empty() && !text.is_empty() {
        to.push_str("\n\n");
    }
    to.push_str(text);
}

/// Gives each call a message of its own, followed by its result. A result that doesn't come right
/// behind its calls stays where it is.
fn split_calls(messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    let mut split = Vec::with_capacity(messages.len());
    let mut rest = messages.into_iter().peekable();
    while let Some(mut message) = rest.next() {
        let mut more = message.tool_calls.split_off(message.tool_calls.len().min(1));
        if more.is_empty() {
            split.push(message);
            continue;
        }
        let mut results = Vec::new();
        while let Some(result) = rest.next_if(|next| next.role == Role::Tool) {
            results.push(result);
        }
        let mut calls = vec![message];
        calls.extend(
            more.drain(..)
                .map(|call| ChatMessage { tool_calls: vec![call], ..ChatMessage::text(Role::Assistant, "") }),
        );
        for call in calls {
            let id = call.tool_calls[0].id.clone();
            split.push(call);
            split.extend(results.extract_if(.., |result| result.tool_call_id.as_deref() == Some(&*id)));
        }
        split.append(&mut results);
    }
    split
}

#[cfg(test)]
mod tests;
