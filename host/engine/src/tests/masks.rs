//! What makes tokens repeat themselves, and a mask.

use std::task::{Context, Poll};

use crate::error::MaskError;
use crate::generation::TokenMask;
use crate::logits::LogitsProcessors;

/// What makes few different tokens come, so that drafts are right now and then: with one, always.
pub(crate) fn words(count: u32) -> LogitsProcessors {
    LogitsProcessors { bias: (3..3 + count).map(|id| (id, 50.0)).collect(), ..LogitsProcessors::default() }
}

/// No token twice running; `forced` tokens, failures and masks that come late where a test wants them.
#[derive(Debug, Default)]
pub(crate) struct NoTwins {
    pub(crate) taken: Vec<u32>,
    pub(crate) can_rollback: bool,
    pub(crate) fails_at: Option<usize>,
    /// What it says comes next, wrong or not.
    pub(crate) expects: Vec<u32>,
    /// One of so many of its masks comes late; 0: none.
    pub(crate) late_one_in: usize,
    /// Polls until what was prepared is there; none: nothing is prepared.
    pub(crate) polls_left: Option<usize>,
}

impl NoTwins {
    /// A prepared mask is asked for once it is there, and not before.
    fn take(&mut self) {
        assert!(self.polls_left.is_none_or(|polls| polls == 0), "a mask is asked that isn't there");
    }
}

impl TokenMask for NoTwins {
    fn prepare(&mut self, draft: &[u32]) {
        // Which are late follows from what came, so that it is the same in every run.
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

    fn forced(&mut self, out: &mut Vec<u32>, most: usize) {
        self.take();
        out.extend(self.expects.iter().take(most));
    }
}
