//! The conversation that a compaction leaves.

use prompt::{ChatMessage, Role};

/// Line in front of a summary.
const HEAD: &str = "[Summary of the conversation up to here, written by the assistant. Everything above except the user's messages and \
                    instructions was left out in favour of it.]";
/// Line after a summary.
const TAIL: &str = "[End of the summary. Go on from the state that it describes.]";

/// Replaces everything in `messages` but instructions and users' messages by `summary`. It has the
/// user's role: templates show that one most reliably, and it lends the text, which may repeat what
/// tools returned, no authority.
pub fn compact(messages: &mut Vec<ChatMessage>, summary: &str) {
    keep(messages);
    let text = format!("{HEAD}\n\n{}\n\n{TAIL}", summary.trim());
    messages.push(ChatMessage { is_summary: true, ..ChatMessage::text(Role::User, text) });
}

/// Drops what a summary replaces, an earlier summary included.
pub(in crate::agent) fn keep(messages: &mut Vec<ChatMessage>) {
    messages.retain(|message| {
        matches!(message.role, Role::System | Role::Developer | Role::User) && !message.is_summary
    });
}

/// Whether a summary would replace anything beside an earlier one. If not, it would be made again
/// and again, and the prompt stay as long.
pub(in crate::agent) fn is_worth_it(messages: &[ChatMessage]) -> bool {
    messages.iter().any(|message| matches!(message.role, Role::Assistant | Role::Tool))
}

#[cfg(test)]
mod tests {
    use super::{compact, is_worth_it};
    use prompt::{ChatMessage, Role};

    fn conversation(roles: &[Role]) -> Vec<ChatMessage> {
        roles.iter().map(|role| ChatMessage::text(*role, format!("{role:?}"))).collect()
    }

    fn shape(messages: &[ChatMessage]) -> Vec<(Role, bool)> {
        messages.iter().map(|message| (message.role, message.is_summary)).collect()
    }

    #[test]
    fn instructions_and_user_messages_stay_beside_summary() {
        use Role::{Assistant, Developer, System, Tool, User};
        let mut messages = conversation(&[System, User, Assistant, Tool, Developer, User, Assistant]);
        assert!(is_worth_it(&messages));
        compact(&mut messages, " Two cities. \n");
        let kept = [(System, false), (User, false), (Developer, false), (User, false), (User, true)];
        assert_eq!(shape(&messages), kept);
        let text = messages[4].content.joined();
        assert!(text.starts_with('[') && text.contains("]\n\nTwo cities.\n\n["), "{text}");
    }

    #[test]
    fn a_later_summary_replaces_an_earlier_one() {
        use Role::{Assistant, User};
        let mut messages = conversation(&[User, Assistant]);
        compact(&mut messages, "one");
        assert!(!is_worth_it(&messages), "nothing is new");
        messages.extend(conversation(&[User, Assistant]));
        compact(&mut messages, "two");
        assert_eq!(shape(&messages), [(User, false), (User, false), (User, true)]);
        assert!(!messages.iter().any(|message| message.content.joined().contains("\none\n")));
    }
}
