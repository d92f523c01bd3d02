//! What makes tokens repeat themselves, and a mask.

use crate::error::MaskError;
use crate::generation::TokenMask;
use crate::logits::LogitsProcessors;

/// What makes few different tokens come, so that drafts are right now and then: with one, always.
pub(crate) fn words(count: u32) -> LogitsProcessors {
    LogitsProcessors { bias: (3..3 + count).map(|id| (id, 50.0)).collect(), ..LogitsProcessors::default() }
}

/// No token twice running; `forced` tokens and failures where a test wants them.
#[derive(Debug, Default)]
pub(crate) struct NoTwins {
    pub(crate) taken: Vec<u32>,
    pub(crate) can_rollback: bool,
    pub(crate) fails_at: Option<usize>,
    /// What it says comes next, wrong or not.
    pub(crate) expects: Vec<u32>,
}

impl TokenMask for NoTwins {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        if self.fails_at == Some(self.taken.len()) {
            return Err(MaskError::Failed("lost the thread".into()));
        }
        if let Some(last) = self.taken.last() {
            mask[*last as usize / 32] &= !(1 << (last % 32));
        }
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), MaskError> {
        if self.taken.last() == Some(&token) {
            return Err(MaskError::Refused(token));
        }
        self.taken.push(token);
        Ok(())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
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
        out.extend(self.expects.iter().take(most));
    }
}
