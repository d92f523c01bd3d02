//! Check of played tokens against their request's mask: each must be one that a model could have
//! been given.
//!
//! Invariants: tokens are checked in order and before they are played; nothing is checked behind
//! the first that fails. [`crate::play`] owns one for each request with a mask.

use std::task::{Context, Poll, ready};

use crate::error::{GenerationError, PlayedMismatch};
use crate::generation::TokenMask;
use crate::speculation::guarded;

/// Check of one output.
#[derive(Debug)]
pub(crate) struct PlayedCheck {
    mask: Box<dyn TokenMask>,
    /// Number of tokens that the mask allowed, from the first on.
    pub(crate) passed: usize,
    /// Error of the token behind those, or of the output's end.
    pub(crate) failed: Option<GenerationError>,
    /// The stop token that ends the output, once the output's end was checked.
    pub(crate) stop: Option<u32>,
    /// Buffer of the mask: a bit for each id.
    allowed: Vec<u32>,
}

impl PlayedCheck {
    /// The check before the first token; all ids that are checked are at most `largest`.
    pub(crate) fn new(mask: Box<dyn TokenMask>, largest: u32) -> Self {
        let allowed = vec![0; largest as usize / 32 + 1];
        Self { mask, passed: 0, failed: None, stop: None, allowed }
    }

    /// Ready once the first `count` of `tokens` are checked, or one has failed.
    pub(crate) fn poll_tokens(
        &mut self,
        tokens: &[u32],
        count: usize,
        stops: &[u32],
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        while self.failed.is_none() && self.passed < count {
            let id = tokens[self.passed];
            let checked = ready!(self.poll_mask(cx)).and_then(|()| {
                if self.allows(id) {
                    guarded(|| self.mask.advance(id)).flatten().map_err(GenerationError::from)
                } else {
                    Err(self.mismatch(tokens, Some(id), stops))
                }
            });
            match checked {
                Ok(()) => self.passed += 1,
                Err(error) => self.failed = Some(error),
            }
        }
        Poll::Ready(())
    }

    /// Ready once the end behind all `tokens`, which have passed, is checked: the first of `stops`
    /// that may come becomes [`Self::stop`].
    pub(crate) fn poll_end(&mut self, tokens: &[u32], stops: &[u32], cx: &mut Context<'_>) -> Poll<()> {
        if self.failed.is_some() || self.stop.is_some() || stops.is_empty() {
            return Poll::Ready(());
        }
        match ready!(self.poll_mask(cx)) {
            Ok(()) => {
                self.stop = stops.iter().copied().find(|stop| self.allows(*stop));
                self.failed = self.stop.is_none().then(|| self.mismatch(tokens, None, stops));
            }
            Err(error) => self.failed = Some(error),
        }
        Poll::Ready(())
    }

    /// Ready once `allowed` has the mask of the next token.
    fn poll_mask(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), GenerationError>> {
        let Self { mask, allowed, .. } = self;
        let applied = guarded(|| {
            mask.prepare(&[]);
            mask.poll_ready(cx).map(|()| {
                allowed.fill(u32::MAX);
                mask.apply(allowed)
            })
        });
        match applied {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(applied)) => Poll::Ready(applied.map_err(GenerationError::from)),
            Err(panicked) => Poll::Ready(Err(panicked.into())),
        }
    }

    fn allows(&self, id: u32) -> bool {
        self.allowed[id as usize / 32] & (1 << (id % 32)) != 0
    }

    fn mismatch(&self, tokens: &[u32], token: Option<u32>, stops: &[u32]) -> GenerationError {
        let others = (0..)
            .zip(&self.allowed)
            .any(|(at, word)| (0..32).any(|bit| word & (1 << bit) != 0 && !stops.contains(&(at * 32 + bit))));
        let before = tokens[..self.passed].to_vec();
        GenerationError::Mismatch(Box::new(PlayedMismatch { before, token, is_complete: !others }))
    }
}
