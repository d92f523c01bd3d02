//! Answer of a turn's step to the generator of its tokens: continue or stop.

/// Whether the turn takes more tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// The turn takes more tokens.
    Continue,
    /// The turn has ended or failed; [`super::Turn::finish`] returns how.
    Stop,
}
