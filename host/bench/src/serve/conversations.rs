//! Conversations that grow turn by turn, like those of agents. All share one system prompt, each
//! adds its own words, and each has one request at a time.

use super::api::{Prompt, Role};
use super::exchange::Answer;
use super::words::Random;

/// Number of conversations, and their maximum length.
#[derive(Debug, Clone, Copy)]
pub struct Conversations {
    /// Number of conversations that run at the same time; ended ones aren't replaced.
    pub count: usize,
    /// Length at which a conversation ends: tokens of prompt and answer together.
    pub grow_to: u64,
}

/// Sizes of one turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) input_len: usize,
    pub(super) output_len: usize,
}

/// One conversation.
pub(super) struct Conversation {
    random: Random,
    messages: Vec<(Role, String)>,
    turn: usize,
}

impl Conversation {
    /// Conversation `index` of a seed; it begins with the system prompt.
    pub(super) fn new(seed: u64, index: usize, system: Option<&str>) -> Self {
        let messages = system.map(|system| (Role::System, system.to_owned())).into_iter().collect();
        Self { random: Random::new(seed, index as u64 + 1), messages, turn: 0 }
    }

    /// Adds the next user message. Returns the turn's index and its prompt.
    pub(super) fn next(&mut self, lengths: Lengths) -> (usize, Prompt) {
        self.messages.push((Role::User, self.random.words(lengths.input_len)));
        self.turn += 1;
        (self.turn - 1, Prompt { messages: self.messages.clone(), output_len: lengths.output_len })
    }

    /// Adds the answer. Returns whether the conversation goes on. If the server counts no tokens,
    /// words are counted.
    pub(super) fn answered(&mut self, answer: &Answer, grow_to: u64) -> bool {
        let words = || self.messages.iter().map(|(_, text)| text.split_whitespace().count() as u64).sum();
        let tokens = answer.usage.map(|usage| usage.prompt_tokens + usage.completion_tokens);
        let length: u64 = tokens.unwrap_or_else(words);
        // Some servers refuse a message without text.
        let text = if answer.text.trim().is_empty() { "…" } else { &answer.text };
        self.messages.push((Role::Assistant, text.to_owned()));
        length < grow_to
    }
}
