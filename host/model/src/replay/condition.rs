//! Conditions of a rule on the conversation. All that are given must hold; a rule without
//! conditions always holds.

use prompt::{ChatMessage, Conversation, Role};

/// Conditions of a rule (`when`); `None` is one that isn't given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Condition {
    /// Role of the last message.
    pub(super) last_role: Option<Role>,
    /// Text that the last message contains.
    pub(super) contains: Option<String>,
    /// Text that the user's last message contains.
    pub(super) last_user_contains: Option<String>,
    /// Name of a declared tool.
    pub(super) tool_declared: Option<String>,
    /// Number of tool results in the whole conversation.
    pub(super) tool_results: Option<usize>,
}

impl Condition {
    /// Whether all conditions hold for `conversation`.
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

fn contains(message: Option<&ChatMessage>, text: Option<&str>) -> bool {
    text.is_none_or(|text| message.is_some_and(|message| message.content.joined().contains(text)))
}
