//! Affinity of a request: a hash of its beginning, the same on every host and in every version, so
//! that servers that share no state route a conversation to the engine that has its beginning
//! cached.

use sha2::{Digest, Sha256};

use accounts::{Principal, leading_bytes};
use engine::RouteKey;
use prompt::{Conversation, Role};

/// Number of ids of a raw prompt that are hashed.
const IDS: usize = 256;

/// A client's name for a session or a conversation, of which only a hash is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSession(u64);

impl ClientSession {
    /// The session that a client calls so.
    pub fn named(name: &[u8]) -> Self {
        Self(leading_bytes(Sha256::new_with_prefix(name)))
    }
}

/// Input of an affinity hash: what the client calls the chain of requests, and how its prompts
/// begin. A name alone would route a whole application to one engine: in `docs/bench` that loses a
/// sixth of the hits. An agent's helpers have its session and beginnings of their own.
pub(super) struct AffinityInput<'a> {
    /// The client's name, if it has one.
    pub(super) name: Option<ChainName<'a>>,
    /// How the prompts begin.
    pub(super) beginning: PromptBeginning<'a>,
}

/// What a client calls a chain of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChainName<'a> {
    /// A session, or a conversation.
    Session(ClientSession),
    /// A key for requests with the same beginning (`prompt_cache_key`).
    Key(&'a str),
}

/// How the prompts of a chain begin.
pub(super) enum PromptBeginning<'a> {
    /// With a conversation's instructions and its first user message, which all its turns have in
    /// common; the conversation is the one before messages are dropped to make it fit.
    Conversation(&'a Conversation),
    /// With the first token ids of a raw prompt.
    Ids(&'a [u32]),
}

impl AffinityInput<'_> {
    /// Returns the first 8 bytes of a SHA-256, big endian, over the principal's cache salt, letters
    /// for the kind, and the hashed parts, each text behind its length. Because of the salt,
    /// one principal's numbers say nothing about another's requests.
    pub(super) fn affinity(&self, principal: &Principal) -> RouteKey {
        let mut hash = Sha256::new();
        hash.update(principal.cache_salt().to_be_bytes());
        match self.name {
            Some(ChainName::Session(ClientSession(session))) => {
                hash.update(b"s");
                hash.update(session.to_be_bytes());
            }
            Some(ChainName::Key(key)) => {
                hash.update(b"k");
                text(&mut hash, key);
            }
            None => {}
        }
        match self.beginning {
            PromptBeginning::Conversation(conversation) => {
                if self.name.is_none() {
                    hash.update(b"c");
                }
                first_messages(conversation).for_each(|part| text(&mut hash, part));
            }
            PromptBeginning::Ids(ids) => {
                hash.update(b"i");
                ids.iter().take(IDS).for_each(|id| hash.update(id.to_be_bytes()));
            }
        }
        let number = leading_bytes(hash);
        if self.name.is_some() { RouteKey::Chain(number) } else { RouteKey::Beginning(number) }
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

    fn of_name(name: Option<ChainName<'_>>, messages: &[(Role, &str)]) -> RouteKey {
        let conversation = conversation(messages);
        AffinityInput { name, beginning: PromptBeginning::Conversation(&conversation) }.affinity(&one())
    }

    fn of_key(key: &str, messages: &[(Role, &str)]) -> RouteKey {
        of_name(Some(ChainName::Key(key)), messages)
    }

    fn of_session(session: &str, messages: &[(Role, &str)]) -> RouteKey {
        of_name(Some(ChainName::Session(ClientSession::named(session.as_bytes()))), messages)
    }

    fn of(messages: &[(Role, &str)]) -> RouteKey {
        of_name(None, messages)
    }

    fn of_ids(ids: &[u32], principal: &Principal) -> RouteKey {
        AffinityInput { name: None, beginning: PromptBeginning::Ids(ids) }.affinity(principal)
    }

    #[test]
    fn numbers_are_the_same_for_ever() {
        assert_eq!(of_key("support", &[(Role::User, "Hi")]), RouteKey::Chain(0x63f6_2fe5_7480_5c0a));
        let beginning = of(&[(Role::System, "Be kind."), (Role::User, "Hi")]);
        assert_eq!(beginning, RouteKey::Beginning(0x08c9_ae39_b4cb_dc9a));
        assert_eq!(of_ids(&[1, 2, 3], &one()), RouteKey::Beginning(0xdc74_ecfe_bdc7_e861));
    }

    #[test]
    fn session_has_its_own_numbers_with_each_beginning() {
        let session = of_session("a", &[(Role::User, "Hi")]);
        assert_eq!(of_session("a", &[(Role::User, "Hi")]), session);
        assert!(session.chain().is_some());
        for other in [
            of_session("b", &[(Role::User, "Hi")]),
            of_session("a", &[(Role::User, "Ho")]),
            of_key("a", &[(Role::User, "Hi")]),
        ] {
            assert_ne!(other, session);
        }
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
            of_key("k", &[(Role::System, "s"), (Role::User, "u")]),
        ] {
            assert_ne!(other, first);
        }
    }

    #[test]
    fn a_principal_has_its_own_numbers() {
        assert_ne!(of_ids(&[1], &Principal::default()), of_ids(&[1], &one()));
        assert_ne!(of(&[]), of_ids(&[], &one()));
    }

    #[test]
    fn of_a_raw_prompt_the_beginning_counts() {
        let ids: Vec<u32> = (0..1000).collect();
        let of = |ids: &[u32]| of_ids(ids, &one());
        assert_eq!(of(&ids), of(&ids[..IDS]));
        assert_ne!(of(&ids), of(&ids[..IDS - 1]));
    }
}
