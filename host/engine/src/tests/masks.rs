//! Logits processors that make tokens repeat, and a mask that forbids it.

use std::task::{Context, Poll};

use crate::error::MaskError;
use crate::generation::TokenMask;
use crate::logits::LogitsProcessors;

/// Biases that let only `count` different tokens come, so that drafts are accepted now and then;
/// with one token, always.
pub(crate) fn words(count: u32) -> LogitsProcessors {
    LogitsProcessors { bias: (3..3 + count).map(|id| (id, 50.0)).collect(), ..LogitsProcessors::default() }
}

/// Mask that forbids the same token twice in a row. A test may set forced tokens, failures and late
/// masks.
#[derive(Debug, Default)]
pub(crate) struct NoTwins {
    pub(crate) taken: Vec<u32>,
    pub(crate) can_rollback: bool,
    pub(crate) fails_at: Option<usize>,
    /// Tokens that [`TokenMask::forced`] returns, right or wrong.
    pub(crate) expects: Vec<u32>,
    /// One of this many masks is late; 0: none.
    pub(crate) late_one_in: usize,
    /// Number of polls until the prepared mask is ready; `None`: nothing is prepared.
    pub(crate) polls_left: Option<usize>,
}

impl NoTwins {
    /// Panics if the mask is used while a prepared one isn't ready.
    fn take(&mut self) {
        assert!(self.polls_left.is_none_or(|polls| polls == 0), "a mask is asked that isn't there");
    }
}

impl TokenMask for NoTwins {
    fn prepare(&mut self, draft: &[u32]) {
        // Whether a mask is late follows from the tokens, so that it is the same in every run.
        let mix = (self.taken.len() + draft.len()) * 7 + self.taken.last().map_or(0, |last| *last as usize);
        let late = self.late_one_in > 0 && mix.is_multiple_of(self.late_one_in);
        self.polls_left.get_or_insert(if late { 1 + mix % 11 } else { 0 });
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        match self.polls_left.as_mut().filter(|polls| **polls > 0) {
            Some(polls) => {
                *polls -= 1;
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }

    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        self.take();
        if self.fails_at == Some(self.taken.len()) {
            return Err(MaskError::Failed("lost the thread".into()));
        }
        if let Some(last) = self.taken.last() {
            mask[*last as usize / 32] &= !(1 << (last % 32));
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), MaskError> {
        self.take();
        self.polls_left = None;
        if self.taken.last() == Some(&token) {
            return Err(MaskError::Refused(token));
        }
        self.taken.push(token);
        Ok(())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        self.take();
        let last = self.taken.last().into_iter();
        let twin = last.chain(tokens).zip(tokens).position(|(one, next)| one == next);
        if self.can_rollback { twin.unwrap_or(tokens.len()) } else { 0 }
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        assert!(self.can_rollback, "drafts for a mask that takes nothing back");
        self.taken.truncate(self.taken.len() - tokens);
        Ok(())
    }

    fn forced(&mut self, out: &mut Vec<u32>, limit: usize) {
        self.take();
        out.extend(self.expects.iter().take(limit));
    }
}
