//! The wish to end a running answer's reasoning now, which comes from outside of its turn.
//!
//! Invariant: the turn says behind each of its steps whether it reasons, and learns there of the
//! wish, so that reasoning ends at the last token that was told.

use std::sync::{Arc, Mutex, PoisonError};

/// Handle by which the reasoning of an answer's turn is ended. Clones are the same answer's.
#[derive(Debug, Clone, Default)]
pub struct ReasoningStop(Arc<Mutex<ReasoningState>>);

/// Where the answer's turn is in its reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReasoningState {
    /// No turn reasons.
    #[default]
    None,
    /// A turn reasons, whose reasoning can't be ended.
    Unendable,
    /// A turn reasons.
    Endable,
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
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            ReasoningState::None => Err(NotStopped::NotReasoning),
            ReasoningState::Unendable => Err(NotStopped::Unsupported),
            ReasoningState::Endable | ReasoningState::Asked => {
                *state = ReasoningState::Asked;
                Ok(())
            }
        }
    }

    /// Takes note of where the turn is. Returns whether it is to end its reasoning.
    pub(crate) fn look(&self, is_reasoning: bool, can_end: bool) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = match *state {
            _ if !is_reasoning => ReasoningState::None,
            _ if !can_end => ReasoningState::Unendable,
            ReasoningState::Asked => ReasoningState::Asked,
            ReasoningState::None | ReasoningState::Unendable | ReasoningState::Endable => {
                ReasoningState::Endable
            }
        };
        *state == ReasoningState::Asked
    }
}
