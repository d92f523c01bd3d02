//! The bound on reasoning: behind it the tokens that end reasoning are the only ones allowed, one
//! after another.
//!
//! Places are counted in tokens of the sequence, so a rollback takes the bound back with it.

use std::sync::Arc;

use super::prepared::Row;

/// The end of reasoning, and where it is due.
pub(super) struct ReasoningBound {
    /// Tokens that end reasoning; at least one.
    pub(super) end: Arc<[u32]>,
    /// Number of tokens behind which they come wherever all of them may.
    pub(super) tokens: usize,
    /// Places where they began to come, in order.
    begun: Vec<usize>,
}

impl ReasoningBound {
    pub(super) fn new(end: Arc<[u32]>, tokens: usize) -> Self {
        Self { end, tokens, begun: Vec::new() }
    }

    /// The token that has to come at the place `at`, of which `row` says what the grammar allows.
    pub(super) fn due(&self, at: usize, row: &Row) -> Option<u32> {
        let is_due = || at >= self.tokens && row.ends_reasoning;
        let token = self.pending(at).or_else(|| self.end.first().copied().filter(|_| is_due()))?;
        row.allowed.is_allowed(token).then_some(token)
    }

    /// Notes that the token that is due at `at` is forced.
    pub(super) fn begin(&mut self, at: usize) {
        if self.pending(at).is_none() {
            self.begun.push(at);
        }
    }

    /// Notes the token that came at `at`. Another one than was due ends what was begun.
    pub(super) fn advance(&mut self, at: usize, token: u32) {
        if self.pending(at).is_some_and(|due| due != token) {
            self.begun.pop();
        }
    }

    /// Goes back to the place `at`.
    pub(super) fn rollback(&mut self, at: usize) {
        while self.begun.last().is_some_and(|begun| *begun >= at) {
            self.begun.pop();
        }
    }

    /// The token that continues what was begun before `at`, or there.
    fn pending(&self, at: usize) -> Option<u32> {
        self.end.get(at.checked_sub(*self.begun.last()?)?).copied()
    }
}
