//! Affinity of a request: a hash of its beginning, the same on every host and in every version, so
//! that servers that share no state route a conversation to the engine that has its beginning
//! cached.

use sha2::{Digest, Sha256};

use accounts::{Principal, leading_bytes};
use prompt::{Conversation, Role};

/// Number of ids of a raw prompt that are hashed.
const IDS: usize = 256;

/// Input of an affinity hash.
pub(super) enum AffinityInput<'a> {
    /// A conversation: its instructions and its first user message, which all its turns have in
    /// common, and the client's key for requests with the same beginning. The key alone would route
    /// a whole application to one engine: in `docs/bench` that loses a sixth of the hits.
    Conversation {
        /// The client's key (`prompt_cache_key`).
        key: Option<&'a str>,
        /// The conversation, before messages are dropped to make it fit.
        conversation: &'a Conversation,
    },
    /// Token ids of a raw prompt.
    Ids(&'a [u32]),
}

impl AffinityInput<'_> {
    /// Returns the first 8 bytes of a SHA-256, big endian, over the principal's cache salt, a
    /// letter for the kind, and the hashed parts, each text behind its length. Because of the salt,
    /// one principal's numbers say nothing about another's requests.
    pub(super) fn affinity(&self, principal: &Principal) -> u64 {
        let mut hash = Sha256::new();
        hash.update(principal.cache_salt().to_be_bytes());
        match self {
            Self::Conversation { key, conversation } => {
                hash.update(if key.is_some() { b"k" } else { b"c" });
                if let Some(key) = key {
                    text(&mut hash, key);
                }
                first_messages(conversation).for_each(|part| text(&mut hash, part));
            }
            Self::Ids(ids) => {
                hash.update(b"i");
                ids.iter().take(IDS).for_each(|id| hash.update(id.to_be_bytes()));
            }
        }
        leading_bytes(hash)
    }
}

/// Instructions before the first user message, and that message.
fn first_messages(conversation: &Conversation) -> impl Iterator<Item = &str> {
    let messages = &conversation.messages;
    let first_user = messages.iter().position(|message| message.role == Role::User);
    let before = &messages[..first_user.unwrap_or(messages.len())];
    let instructions = before.iter().filter(|message| matches!(message.role, Role::System | Role::Developer));
    let first_user = first_user.map(|index| &messages[index]);
    instructions.chain(first_user).map(|message| message.content.joined())
}

fn text(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use prompt::ChatMessage;

    fn one() -> Principal {
        Principal::new("one")
    }

    fn conversation(messages: &[(Role, &str)]) -> Conversation {
        let messages = messages.iter().map(|(role, text)| ChatMessage::text(*role, *text)).collect();
        Conversation { messages, tools: Vec::new() }
    }

    fn of_key(key: Option<&str>, messages: &[(Role, &str)]) -> u64 {
        AffinityInput::Conversation { key, conversation: &conversation(messages) }.affinity(&one())
    }

    fn of(messages: &[(Role, &str)]) -> u64 {
        of_key(None, messages)
    }

    #[test]
    fn numbers_are_the_same_for_ever() {
        assert_eq!(of_key(Some("support"), &[(Role::User, "Hi")]), 0x63f6_2fe5_7480_5c0a);
        assert_eq!(of(&[(Role::System, "Be kind."), (Role::User, "Hi")]), 0x08c9_ae39_b4cb_dc9a);
        assert_eq!(AffinityInput::Ids(&[1, 2, 3]).affinity(&one()), 0xdc74_ecfe_bdc7_e861);
    }

    #[test]
    fn turns_of_one_conversation_share_its_number() {
        let first = of(&[(Role::System, "s"), (Role::User, "u")]);
        let later = [(Role::System, "s"), (Role::User, "u"), (Role::Assistant, "a"), (Role::User, "more")];
        assert_eq!(of(&later), first);
        for other in [
            of(&[(Role::System, "t"), (Role::User, "u")]),
            of(&[(Role::System, "s"), (Role::User, "v")]),
            of(&[(Role::System, "su"), (Role::User, "")]),
            of(&[(Role::User, "u")]),
            of_key(Some("k"), &[(Role::System, "s"), (Role::User, "u")]),
        ] {
            assert_ne!(other, first);
        }
    }

    #[test]
    fn a_principal_has_its_own_numbers() {
        assert_ne!(
            AffinityInput::Ids(&[1]).affinity(&Principal::default()),
            AffinityInput::Ids(&[1]).affinity(&one())
        );
        assert_ne!(of(&[]), AffinityInput::Ids(&[]).affinity(&one()));
    }

    #[test]
    fn of_a_raw_prompt_the_beginning_counts() {
        let ids: Vec<u32> = (0..1000).collect();
        let of = |ids: &[u32]| AffinityInput::Ids(ids).affinity(&one());
        assert_eq!(of(&ids), of(&ids[..IDS]));
        assert_ne!(of(&ids), of(&ids[..IDS - 1]));
    }
}
