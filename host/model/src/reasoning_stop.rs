//! The wish to end a running answer's reasoning now, which comes from outside of its turn.
//!
//! Invariant: the turn says behind each of its steps whether it reasons, and learns there of the
//! wish, so that reasoning ends at the last token that was told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Handle by which the reasoning of an answer's turn is ended; it has one of the states below. Clones are the
/// same answer's.
#[derive(Debug, Clone, Default)]
pub struct ReasoningStop(Arc<AtomicU8>);

/// No turn reasons: what a handle begins with.
const NONE: u8 = 0;
/// A turn reasons, whose reasoning can't be ended.
const UNENDABLE: u8 = 1;
/// A turn reasons.
const ENDABLE: u8 = 2;
/// A turn reasons, and is to end that.
const ASKED: u8 = 3;

/// Why reasoning isn't ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotStopped {
    /// The answer isn't in its reasoning.
    #[error("the model isn't reasoning")]
    NotReasoning,
    /// Engine, format or turn can't.
    #[error(
        "its reasoning can't be ended: that needs a model that writes it, a parser that knows the end of reasoning, and room for an answer"
    )]
    Unsupported,
}

impl ReasoningStop {
    /// Asks for the end of the reasoning that is under way. It comes with the turn's next step.
    ///
    /// # Errors
    /// Why it doesn't come.
    pub fn ask(&self) -> Result<(), NotStopped> {
        let asked = |state| (state >= ENDABLE).then_some(ASKED);
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, asked) {
            Ok(_) => Ok(()),
            Err(NONE) => Err(NotStopped::NotReasoning),
            Err(_) => Err(NotStopped::Unsupported),
        }
    }

    /// Takes note of where the turn is. Returns whether it is to end its reasoning. Asked for each
    /// token, so nothing is written where nothing has changed.
    #[inline]
    pub(crate) fn look(&self, is_reasoning: bool, can_end: bool) -> bool {
        let next = |state| match state {
            _ if !is_reasoning => NONE,
            _ if !can_end => UNENDABLE,
            ASKED => ASKED,
            _ => ENDABLE,
        };
        let mut state = self.0.load(Ordering::Relaxed);
        while next(state) != state {
            match self.0.compare_exchange_weak(state, next(state), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return next(state) == ASKED,
                Err(now) => state = now,
            }
        }
        state == ASKED
    }
}
