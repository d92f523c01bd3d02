//! Conditions of a rule on the conversation. All of those given must hold; none given holds always.

use crate::prompt::{Conversation, Message, Role};

/// The `when` of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Condition {
    /// Role of the last message.
    pub(super) last_role: Option<Role>,
    /// Text in the last message.
    pub(super) contains: Option<String>,
    /// Text in the last message of the user.
    pub(super) last_user_contains: Option<String>,
    /// Name of a tool that is declared.
    pub(super) tool_declared: Option<String>,
    /// Number of tool results in the whole conversation.
    pub(super) tool_results: Option<usize>,
}

impl Condition {
    /// Whether all of it holds.
    pub(super) fn holds(&self, conversation: &Conversation) -> bool {
        let messages = &conversation.messages;
        let last = messages.last();
        let last_user = messages.iter().rfind(|message| message.role == Role::User);
        let results = || messages.iter().filter(|message| message.role == Role::Tool).count();
        self.last_role.is_none_or(|role| last.is_some_and(|message| message.role == role))
            && contains(last, self.contains.as_deref())
            && contains(last_user, self.last_user_contains.as_deref())
            && self
                .tool_declared
                .as_ref()
                .is_none_or(|name| conversation.tools.iter().any(|tool| tool.name == *name))
            && self.tool_results.is_none_or(|count| results() == count)
    }
}

fn contains(message: Option<&Message>, text: Option<&str>) -> bool {
    text.is_none_or(|text| message.is_some_and(|message| message.content.contains(text)))
}
