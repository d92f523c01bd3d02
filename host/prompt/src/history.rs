//! Ids of earlier calls as a model spells them. Clients see only the host's ids; this module makes
//! the ids that stand in the prompt.

use std::collections::HashMap;

use super::conversation::Conversation;
use turn::spell_call_id;

/// Respells the ids of the conversation's calls, and of the results that answer them, by `pattern`:
/// `{name}` is the tool's name and `{index}` counts the calls of the whole conversation from 0
/// (Kimi K2: `functions.{name}:{index}`). A result whose call isn't in the conversation keeps its
/// id.
pub fn spell_history_call_ids(conversation: &mut Conversation, pattern: &str) {
    let mut spelt: HashMap<String, String> = HashMap::new();
    let mut index = 0_usize;
    for message in &mut conversation.messages {
        for call in &mut message.tool_calls {
            let id = spell_call_id(pattern, &call.name, index);
            spelt.insert(std::mem::replace(&mut call.id, id.clone()), id);
            index += 1;
        }
        if let Some(id) = &mut message.tool_call_id
            && let Some(new) = spelt.get(id)
        {
            id.clone_from(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChatMessage, HistoryCall, Role};

    fn call(id: &str, name: &str) -> HistoryCall {
        HistoryCall { id: id.to_owned(), name: name.to_owned(), arguments: "{}".to_owned() }
    }

    #[test]
    fn calls_count_conversation_wide_and_results_follow() {
        let mut first = ChatMessage::text(Role::Assistant, "");
        first.tool_calls = vec![call("a", "weather"), call("b", "time")];
        let mut result = ChatMessage::text(Role::Tool, "noon");
        result.tool_call_id = Some("b".to_owned());
        let mut second = ChatMessage::text(Role::Assistant, "");
        second.tool_calls = vec![call("a", "{index}")];
        let mut stray = ChatMessage::text(Role::Tool, "?");
        stray.tool_call_id = Some("gone".to_owned());
        let mut conversation =
            Conversation { messages: vec![first, result, second, stray], tools: Vec::new() };

        spell_history_call_ids(&mut conversation, "functions.{name}:{index}");

        let ids: Vec<_> =
            conversation.messages.iter().flat_map(|m| &m.tool_calls).map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["functions.weather:0", "functions.time:1", "functions.{index}:2"]);
        assert_eq!(conversation.messages[1].tool_call_id.as_deref(), Some("functions.time:1"));
        assert_eq!(conversation.messages[3].tool_call_id.as_deref(), Some("gone"));
    }
}
