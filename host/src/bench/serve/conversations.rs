//! Conversations that grow turn by turn, as those of agents do: one system prompt for all, each with words of its own, each with one request
//! at a time.

use super::api::{Prompt, Role};
use super::exchange::Answer;
use super::words::Random;

/// How many there are, and how far they go.
#[derive(Debug, Clone, Copy)]
pub struct Conversations {
    /// How many go on at a time; no others follow.
    pub count: usize,
    /// A conversation ends when a prompt and its answer have so many tokens.
    pub grow_to: u64,
}

/// Sizes of what is said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) input_len: usize,
    pub(super) output_len: usize,
}

/// One of them.
pub(super) struct Conversation {
    random: Random,
    messages: Vec<(Role, String)>,
    turn: usize,
}

impl Conversation {
    /// Conversation `index` of a seed, behind the system prompt.
    pub(super) fn new(seed: u64, index: usize, system: Option<&str>) -> Self {
        let messages = system.map(|system| (Role::System, system.to_owned())).into_iter().collect();
        Self { random: Random::new(seed, index as u64 + 1), messages, turn: 0 }
    }

    /// What is asked next, and which turn that is.
    pub(super) fn next(&mut self, lengths: Lengths) -> (usize, Prompt) {
        self.messages.push((Role::User, self.random.words(lengths.input_len)));
        self.turn += 1;
        (self.turn - 1, Prompt { messages: self.messages.clone(), output_len: lengths.output_len })
    }

    /// Takes its answer; says whether the conversation goes on. A server that counts no tokens has its words counted.
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
