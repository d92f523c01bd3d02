//! What a step has left for further sequences.

use crate::sequence::Sequence;

/// Tokens and sequences that a step has left.
pub(super) struct Budget {
    pub(super) tokens: usize,
    pub(super) sequences: usize,
}

impl Budget {
    /// Gives a sequence the tokens that it still needs, as far as the step has them, and at most `limit`. Returns how many.
    pub(super) fn give(&mut self, sequence: &mut Sequence, limit: usize) -> usize {
        let is_new = sequence.scheduled == 0;
        if is_new && self.sequences == 0 {
            return 0;
        }
        let more = sequence.pending().saturating_sub(sequence.scheduled).min(self.tokens).min(limit);
        sequence.scheduled += more;
        self.tokens -= more;
        self.sequences -= usize::from(is_new && more > 0);
        more
    }
}
