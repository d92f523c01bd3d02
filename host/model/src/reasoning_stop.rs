//! The wish to end a running answer's reasoning now, which comes from outside of its turn.
//!
//! Invariant: the turn says behind each of its steps whether it reasons, and learns there of the
//! wish, so that reasoning ends at the last token that was told.

use std::sync::{Arc, Mutex, PoisonError};

/// Handle by which the reasoning of an answer's turn is ended. Clones are the same answer's.
#[derive(Debug, Clone, Default)]
pub struct ReasoningStop(Arc<Mutex<Phase>>);

/// Where the answer's turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// No turn reasons.
    #[default]
    Elsewhere,
    /// A turn reasons, whose reasoning can't be ended.
    Bound,
    /// A turn reasons.
    Reasoning,
    /// A turn reasons, and is to end that.
    Asked,
}

/// Why reasoning isn't ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotStopped {
    /// The answer isn't in its reasoning.
    #[error("the model isn't reasoning")]
    NotReasoning,
    /// Engine, format or turn can't.
    #[error(
        "its reasoning can't be ended: that needs an engine of this server, a parser that knows the end of reasoning, and room for an answer"
    )]
    Unsupported,
}

impl ReasoningStop {
    /// Asks for the end of the reasoning that is under way. It comes with the turn's next step.
    ///
    /// # Errors
    /// Why it doesn't come.
    pub fn ask(&self) -> Result<(), NotStopped> {
        let mut phase = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *phase {
            Phase::Elsewhere => Err(NotStopped::NotReasoning),
            Phase::Bound => Err(NotStopped::Unsupported),
            Phase::Reasoning | Phase::Asked => {
                *phase = Phase::Asked;
                Ok(())
            }
        }
    }

    /// Takes note of where the turn is. Returns whether it is to end its reasoning.
    pub(crate) fn look(&self, is_reasoning: bool, can_end: bool) -> bool {
        let mut phase = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *phase = match *phase {
            _ if !is_reasoning => Phase::Elsewhere,
            _ if !can_end => Phase::Bound,
            Phase::Asked => Phase::Asked,
            Phase::Elsewhere | Phase::Bound | Phase::Reasoning => Phase::Reasoning,
        };
        *phase == Phase::Asked
    }
}
