//! Trait [`TokenMask`]: which tokens may come next, as a grammar says it. The engine knows no
//! grammars.

use std::task::{Context, Poll};

use crate::error::MaskError;

/// A restriction on the next token, such as a grammar. Opaque to the engine.
///
/// ```
/// use engine::{MaskError, TokenMask};
///
/// /// Ids below a bound.
/// #[derive(Debug)]
/// struct Below(u32);
///
/// impl TokenMask for Below {
///     fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
///         let ids = (0..).flat_map(|word| (0..32).map(move |bit| (word, bit)));
///         for (word, bit) in ids.take(mask.len() * 32).skip(self.0 as usize) {
///             mask[word] &= !(1 << bit);
///         }
///         Ok(())
///     }
///
///     fn advance(&mut self, token: u32) -> Result<(), MaskError> {
///         if token < self.0 { Ok(()) } else { Err(MaskError::Refused(token)) }
///     }
/// }
///
/// let mut mask = [u32::MAX; 2];
/// Below(33).apply(&mut mask)?;
/// assert_eq!(mask, [u32::MAX, 1]);
/// # Ok::<(), MaskError>(())
/// ```
pub trait TokenMask: Send + std::fmt::Debug {
    /// Clears the bit of each token that may not come next (`mask` has one bit per id, 32 ids per
    /// word, all set).
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError>;
    /// Advances the mask by the token that was chosen.
    fn advance(&mut self, token: u32) -> Result<(), MaskError>;
    /// Called when a step begins: starts the work for the masks of the next token and of the token
    /// behind each token of `draft`, perhaps on another thread. [`Self::apply`] is called while the
    /// step runs or after it. A repeated call for the same masks does nothing.
    fn prepare(&mut self, draft: &[u32]) {
        let _ = draft;
    }
    /// Ready once the prepared masks are computed; until then the waker is woken when they may be.
    /// A sequence whose mask isn't ready takes no part in steps, and of its mask only this method
    /// and [`Self::prepare`] are called.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Ready(())
    }
    /// Returns how many of `tokens` may come next, one after the other; the mask stays as it is.
    /// Drafts are cut to this length. The default is 0, for a mask that can't roll back: its
    /// sequence gets no drafts.
    fn validate(&mut self, tokens: &[u32]) -> usize {
        let _ = tokens;
        0
    }
    /// Undoes the last `tokens` calls of [`Self::advance`]. They were made for draft tokens, behind
    /// the last token that was sampled. A mask that overrides [`Self::validate`] overrides this
    /// method, too.
    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        Err(MaskError::Failed(format!("it can't take {tokens} tokens back")))
    }
    /// Whether a sequence whose mask has failed goes on without it. By default it ends with the
    /// error.
    fn gives_way(&self) -> bool {
        false
    }
    /// Appends at most `limit` tokens to `out` that are likely next because the mask allows only
    /// one text; the mask stays as it is. The tokens become a draft like any other: each is sampled
    /// before it is accepted.
    fn forced(&mut self, out: &mut Vec<u32>, limit: usize) {
        let _ = (out, limit);
    }
}
