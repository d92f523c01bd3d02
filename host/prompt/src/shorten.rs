//! Truncation of conversations: removes the oldest parts, so that the rest fits into the context.
//! The rest is a conversation that templates take: it keeps the instructions at the beginning, the
//! user's last message, and the last step after it.
//!
//! A part is a whole exchange (a user's message and all that followed it) or, once no earlier
//! exchange is left, a step of the last one: a message with the results of its calls. The model
//! room calls it for jobs that allow it.

use std::ops::Range;

use super::conversation::{ChatMessage, Conversation, Role};

/// Approximate bytes that a message, a further part of it, or a call takes in a prompt beside its
/// texts.
const MARKUP: usize = 16;

/// Removes parts, oldest first, until `parts` of them and about `bytes` bytes of text are removed,
/// or no further part may be. Returns the number of removed messages.
pub fn drop_oldest(conversation: &mut Conversation, bytes: usize, parts: usize) -> usize {
    let messages = &mut conversation.messages;
    let all = messages.len();
    let droppable = droppable(messages);
    let (mut taken, mut gone) = (0, 0);
    let mut dropped = vec![false; all];
    for part in droppable {
        if taken >= parts && gone >= bytes {
            break;
        }
        gone += messages[part.clone()].iter().map(size).sum::<usize>();
        taken += 1;
        dropped[part].fill(true);
    }
    let mut dropped = dropped.into_iter();
    messages.retain(|_| !dropped.next().unwrap_or(false));
    all - messages.len()
}

/// Returns the approximate size of a conversation's messages in a prompt, in bytes.
pub fn approximate_bytes(conversation: &Conversation) -> usize {
    conversation.messages.iter().map(size).sum()
}

fn size(message: &ChatMessage) -> usize {
    let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len() + MARKUP);
    let reasoning = message.reasoning.as_ref().map_or(0, String::len);
    let parts = MARKUP * message.content.parts().count().max(1);
    parts + message.content.len() + reasoning + calls.sum::<usize>()
}

/// Returns the parts that may be removed, oldest first.
fn droppable(messages: &[ChatMessage]) -> Vec<Range<usize>> {
    let is_instruction = |message: &&ChatMessage| matches!(message.role, Role::System | Role::Developer);
    let head = messages.iter().take_while(is_instruction).count();
    let user = messages.iter().rposition(|message| message.role == Role::User).filter(|user| *user >= head);
    let exchanges = parts(messages, head..user.unwrap_or(head), |message| message.role == Role::User);
    let mut steps = parts(messages, user.map_or(head, |user| user + 1)..messages.len(), |message| {
        message.role != Role::Tool
    });
    steps.pop();
    [exchanges, steps].concat()
}

/// Cuts `range` into parts, before each message that `begins` one.
fn parts(
    messages: &[ChatMessage],
    range: Range<usize>,
    begins: impl Fn(&ChatMessage) -> bool,
) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    for at in range {
        match parts.last_mut() {
            Some(last) if !begins(&messages[at]) => last.end = at + 1,
            _ => parts.push(at..at + 1),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::drop_oldest;
    use crate::{ChatMessage, Conversation, HistoryCall, Role};

    /// Makes a conversation of letters: s(ystem), d(eveloper), u(ser), a(ssistant), t(ool). A
    /// capital letter is a message with a call.
    fn conversation(letters: &str) -> Conversation {
        let message = |letter: char| {
            let role = match letter.to_ascii_lowercase() {
                's' => Role::System,
                'd' => Role::Developer,
                'u' => Role::User,
                'a' => Role::Assistant,
                _ => Role::Tool,
            };
            let call = HistoryCall { id: "c".into(), name: "f".into(), arguments: "{}".into() };
            let tool_calls = if letter.is_uppercase() { vec![call] } else { vec![] };
            ChatMessage { tool_calls, ..ChatMessage::text(role, "x".repeat(100)) }
        };
        Conversation { messages: letters.chars().map(message).collect(), tools: vec![] }
    }

    fn letters(conversation: &Conversation) -> String {
        let letter = |message: &ChatMessage| match (message.role, message.tool_calls.is_empty()) {
            (Role::System, _) => 's',
            (Role::Developer, _) => 'd',
            (Role::User, _) => 'u',
            (Role::Assistant, true) => 'a',
            (Role::Assistant, false) => 'A',
            (Role::Tool, _) => 't',
        };
        conversation.messages.iter().map(letter).collect()
    }

    /// Returns the conversation that is left after each removed part.
    fn shrinking(from: &str) -> Vec<String> {
        let mut conversation = conversation(from);
        let mut left = Vec::new();
        while drop_oldest(&mut conversation, 0, 1) > 0 {
            left.push(letters(&conversation));
        }
        left
    }

    #[test]
    fn instructions_last_question_and_last_step_stay() {
        assert_eq!(shrinking("sduauAtau"), ["sduAtau", "sdu"]);
        assert_eq!(shrinking("suaudaAttAt"), ["sudaAttAt", "suaAttAt", "suAttAt", "suAt"]);
        assert_eq!(shrinking("u"), [""; 0]);
        assert_eq!(shrinking(""), [""; 0]);
    }

    #[test]
    fn a_result_never_stays_without_its_call() {
        for from in ["uAttAtAt", "AtAtu", "saAtAt", "uAtuAtt"] {
            for left in shrinking(from) {
                assert!(!left.replace("At", "").replace('t', "").is_empty() || left.starts_with('A'));
                assert!(!left.starts_with('t') && !left.contains("ut") && !left.contains("st"), "{left}");
            }
        }
    }

    #[test]
    fn as_much_goes_as_is_asked_for() {
        let mut long = conversation(&"ua".repeat(50));
        assert_eq!(drop_oldest(&mut long, 1000, 1), 10);
        assert_eq!(drop_oldest(&mut long, 0, 3), 6);
        assert_eq!(drop_oldest(&mut long, usize::MAX, 1), 82);
        assert_eq!(letters(&long), "ua");
    }
}
