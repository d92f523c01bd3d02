//! What a step has left for further sequences.

use crate::sequence::Sequence;

/// Tokens, sequences and rows of logits that score prompts, as far as a step has them left.
pub(super) struct Budget {
    pub(super) tokens: usize,
    pub(super) sequences: usize,
    pub(super) score_rows: usize,
}

impl Budget {
    /// Gives a sequence the tokens that it still needs, as far as the step has them, and at most
    /// `limit`. Returns how many.
    pub(super) fn give(&mut self, sequence: &mut Sequence, limit: usize) -> usize {
        let is_new = sequence.scheduled == 0;
        if is_new && self.sequences == 0 {
            return 0;
        }
        let mut more = sequence.pending().saturating_sub(sequence.scheduled).min(self.tokens).min(limit);
        if let Some(scores) = &sequence.scores {
            let from = sequence.computed + sequence.scheduled;
            more = more.min(scores.fitting(sequence.computed..from, self.score_rows));
            self.score_rows -= scores.rows(from..from + more).len();
        }
        sequence.scheduled += more;
        self.tokens -= more;
        self.sequences -= usize::from(is_new && more > 0);
        more
    }
}
