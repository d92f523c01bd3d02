//! Division of a step's tokens among decoding sequences, their drafts, prompts that are being computed, and requests that begin.
//!
//! A decoding sequence has one token in every step, whatever prompts there are. The rest is divided among the prompts of the highest
//! priority: each principal with such a prompt gets the same share, and so does the waiting sequence of a further principal. Other prompts
//! get what a principal leaves of its share, in order of priority and of their beginning.

use std::collections::BTreeMap;

use super::Scheduler;
use super::admit::NextSequence;
use super::budget::Budget;
use super::speculate::DraftRoom;
use crate::sequence::{MaskWait, Sequence};

impl Scheduler {
    /// Plans the next step.
    pub(super) fn plan(&mut self) {
        let mut budget = Budget { tokens: self.options.batch_tokens, sequences: self.options.sequences };
        self.plan_decoding(&mut budget);
        let awaited = self.plan_prompts(&mut budget);
        if !awaited {
            self.fill_prompts(&mut budget);
        }
        if self.secure_blocks() {
            self.admit(&mut budget);
        }
        if awaited {
            self.fill_prompts(&mut budget);
        }
    }

    fn plan_decoding(&mut self, budget: &mut Budget) {
        let room = DraftRoom::of(&self.running, &self.pool, self.options.speculation);
        let ready = |one: &&mut Sequence| {
            !one.paused && one.pending() == 1 && one.mask_wait != MaskWait::Waits && !room.waits(one)
        };
        let mut decoding: Vec<&mut Sequence> =
            self.running.iter_mut().filter(ready).take(budget.sequences).collect();
        for sequence in &mut decoding {
            budget.give(sequence, 1);
        }
        room.draft(decoding, budget);
    }

    /// Gives each principal its share for prompts of the highest priority. Returns whether a share is left for a waiting sequence.
    fn plan_prompts(&mut self, budget: &mut Budget) -> bool {
        let Some(first) = self.prompts().map(|one| one.priority).min() else { return false };
        let mut shares: BTreeMap<u64, usize> =
            self.prompts().filter(|one| one.priority == first).map(|one| (one.principal, 0)).collect();
        let awaited = budget.sequences > 0
            && self.next().is_some_and(|next| {
                let one = next.sequence(&mut self.preempted, &mut self.queue);
                one.priority <= first
                    && (matches!(next, NextSequence::Preempted(_)) || !shares.contains_key(&one.principal))
            });
        let share = budget.tokens.div_ceil(shares.len() + usize::from(awaited));
        for left in shares.values_mut() {
            *left = share;
        }
        for sequence in self.running.iter_mut().filter(|one| is_prompt(one) && one.priority == first) {
            let left = shares.get_mut(&sequence.principal).expect("each has a share");
            *left -= budget.give(sequence, *left);
        }
        awaited
    }

    /// Gives prompts the tokens that are left, in order of priority.
    fn fill_prompts(&mut self, budget: &mut Budget) {
        let mut prompts: Vec<&mut Sequence> = self.running.iter_mut().filter(|one| is_prompt(one)).collect();
        prompts.sort_by_key(|one| one.priority);
        for sequence in prompts {
            budget.give(sequence, usize::MAX);
        }
    }

    fn prompts(&self) -> impl Iterator<Item = &Sequence> {
        self.running.iter().filter(|one| is_prompt(one))
    }
}

/// Whether the sequence isn't paused and more than its last token is to be computed.
fn is_prompt(sequence: &Sequence) -> bool {
    !sequence.paused && sequence.pending() > 1
}
