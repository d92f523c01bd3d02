//! What a turn asks of whoever generates it.

/// Whether more of the turn is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// Yes.
    Continue,
    /// No: the turn has ended; [`super::Turn::finish`] says how.
    Stop,
}
