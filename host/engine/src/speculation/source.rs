//! Interface of what proposes drafts.

/// Source of drafts: guesses how a sequence goes on.
pub(super) trait DraftSource {
    /// Appends at most `most` tokens to an empty `draft` that may follow `tokens`, the sequence so
    /// far.
    fn propose(&mut self, tokens: &[u32], most: usize, draft: &mut Vec<u32>);
}
