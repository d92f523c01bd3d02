//! Length of one sequence's drafts: longer while they are accepted, shorter when they aren't, none
//! for a while when few tokens are.

/// Maximum number of tokens in the first draft.
const FIRST: usize = 4;
/// Weight of a draft in the moving average of what was accepted.
const WEIGHT: f32 = 0.25;
/// Share of accepted tokens below which drafts cost more than they bring: a row more takes about a
/// tenth of a step on the CPU (`docs/speculation.md`), so this leaves a margin.
const LOW: f32 = 0.15;
/// Shortest and longest rest: the number of tokens without drafts after the share has fallen below
/// `LOW`. The rest is doubled each time that the next attempt fails, too.
const RESTS: (usize, usize) = (32, 1024);

/// The pace of one source of drafts.
#[derive(Debug)]
pub(super) struct Pace {
    /// Maximum number of tokens in the next draft.
    length: usize,
    /// Moving average of the share of drafted tokens that were accepted.
    acceptance: f32,
    /// No drafts while the sequence is shorter than this.
    resumes_at: usize,
    /// Number of tokens in the next rest.
    rest: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { length: FIRST, acceptance: 0.5, resumes_at: 0, rest: RESTS.0 }
    }
}

impl Pace {
    /// Maximum number of tokens in the next draft, for a sequence of `length` tokens.
    pub(super) fn most(&self, length: usize) -> usize {
        if length < self.resumes_at { 0 } else { self.length }
    }

    /// Records that `accepted` of `drafted` tokens, at least one, were accepted; the sequence has
    /// `length` tokens now.
    pub(super) fn record(&mut self, drafted: usize, accepted: usize, length: usize) {
        // A miss in copied text is often the one place that was edited: what follows is copied
        // again.
        self.length =
            if accepted == drafted { self.length.max(drafted * 2) } else { (accepted + 1).max(drafted / 2) };
        #[expect(clippy::cast_precision_loss, reason = "drafts are short")]
        let share = accepted as f32 / drafted as f32;
        self.acceptance += WEIGHT * (share - self.acceptance);
        if self.acceptance >= LOW {
            self.rest = RESTS.0;
            return;
        }
        self.resumes_at = length + self.rest;
        self.rest = (self.rest * 2).min(RESTS.1);
        // The average is set to the limit, so that the next draft alone decides about another rest.
        self.acceptance = LOW;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_grow_while_accepted_and_shrink_to_what_was() {
        let mut pace = Pace::default();
        assert_eq!(pace.most(9), 4);
        pace.record(4, 4, 14);
        assert_eq!(pace.most(14), 8);
        pace.record(3, 3, 18);
        assert_eq!(pace.most(18), 8, "a source that had no more to offer says nothing against long drafts");
        pace.record(8, 5, 24);
        assert_eq!(pace.most(24), 6);
        pace.record(6, 0, 25);
        assert_eq!(pace.most(25), 3);
    }

    #[test]
    fn failing_drafts_pause_longer_and_success_restores() {
        let mut pace = Pace::default();
        let mut length = 100;
        let mut rests = Vec::new();
        let mut drafted = 0;
        while length < 5000 {
            let most = pace.most(length);
            if most == 0 {
                rests.push(pace.resumes_at - length);
                length = pace.resumes_at;
            }
            drafted += pace.most(length);
            pace.record(pace.most(length), 0, length + 1);
            length += 1;
        }
        assert_eq!(rests[..6], [32, 64, 128, 256, 512, 1024]);
        assert!(drafted < 20, "{drafted} tokens were drafted in vain");
        let at = pace.resumes_at;
        pace.record(1, 1, at);
        assert_eq!((pace.most(at), pace.rest), (2, 32));
    }
}
