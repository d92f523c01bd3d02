//! What `/stats` says: tokens and times of the last answer, and of all answers of the conversation,
//! those that were taken back among them, since they took their time, too.

use std::fmt;

use crate::cli::client::Figures;

/// Figures of a chat's answers.
#[derive(Default)]
pub(super) struct Stats {
    last: Option<Figures>,
    all: Figures,
}

impl Stats {
    /// Counts an answer that has ended.
    pub(super) fn add(&mut self, answer: Figures) {
        self.last = Some(answer);
        self.all += answer;
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) => write!(f, "last answer: {last}\nconversation: {}", self.all),
            None => f.write_str("no answer has ended yet"),
        }
    }
}
