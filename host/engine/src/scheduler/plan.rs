//! Division of a step's tokens among decoding sequences, their drafts, prompts that are being
//! computed, and requests that begin.
//!
//! A decoding sequence has one token in every step, whatever prompts there are; where more decode
//! than a step has slots for, principals take turns. The rest is divided equally among the
//! principals with prompts, and one with a waiting sequence; what one leaves is divided among the
//! others. A principal's own prompts get its part in order of priority and of their beginning.

use std::collections::{BTreeMap, HashMap};

use super::Scheduler;
use super::admit::NextSequence;
use super::budget::Budget;
use super::speculate::DraftRoom;
use crate::options::LocalOptions;
use crate::sequence::{MaskWait, Sequence};

impl Scheduler {
    /// Plans the next step.
    pub(super) fn plan(&mut self) {
        let LocalOptions { batch_tokens, sequences, .. } = self.options;
        let mut budget = Budget { tokens: batch_tokens, sequences, score_rows: self.score_rows };
        self.plan_decoding(&mut budget);
        let is_awaited = self.is_part_awaited(&budget);
        self.plan_prompts(&mut budget, is_awaited);
        if self.secure_blocks() {
            self.admit(&mut budget);
        }
        if is_awaited {
            self.plan_prompts(&mut budget, false);
        }
    }

    fn plan_decoding(&mut self, budget: &mut Budget) {
        let room = DraftRoom::of(&self.running, &self.pool, self.options.speculation);
        let ready = |one: &&mut Sequence| {
            !one.paused && one.pending() == 1 && one.mask_wait != MaskWait::Waits && !room.waits(one)
        };
        let mut decoding: Vec<&mut Sequence> = self.running.iter_mut().filter(ready).collect();
        if decoding.len() > budget.sequences {
            let mut turns: HashMap<u64, usize> = HashMap::new();
            decoding.sort_by_cached_key(|one| {
                let turn = turns.entry(one.principal).or_default();
                *turn += 1;
                *turn
            });
            decoding.truncate(budget.sequences);
        }
        for sequence in &mut decoding {
            budget.give(sequence, 1);
        }
        room.draft(decoding, budget);
    }

    /// Whether a part of the step's tokens is left for the next waiting sequence, while prompts are
    /// computed.
    fn is_part_awaited(&mut self, budget: &Budget) -> bool {
        let computed = self.first_priorities();
        if computed.is_empty() || budget.sequences == 0 {
            return false;
        }
        let Some(next) = self.next() else { return false };
        let one = next.sequence(&mut self.preempted, &mut self.queue);
        computed
            .get(&one.principal)
            .is_none_or(|first| matches!(next, NextSequence::Preempted(_)) && one.priority <= *first)
    }

    /// Divides tokens among the principals with prompts, in rounds: what one leaves is divided in
    /// the next. With `is_awaited` there is one round, which leaves a part for a waiting sequence.
    fn plan_prompts(&mut self, budget: &mut Budget, is_awaited: bool) {
        loop {
            let firsts = self.first_priorities();
            let (before, parts) = (budget.tokens, firsts.len() + usize::from(is_awaited));
            if firsts.is_empty() || before == 0 {
                return;
            }
            let part = before.div_ceil(parts);
            let mut left: BTreeMap<u64, usize> = firsts.keys().map(|principal| (*principal, part)).collect();
            for sequence in self.running.iter_mut().filter(|one| is_prompt(one)) {
                if firsts.get(&sequence.principal) == Some(&sequence.priority)
                    && let Some(left) = left.get_mut(&sequence.principal)
                {
                    *left -= budget.give(sequence, *left);
                }
            }
            if is_awaited || budget.tokens == before {
                return;
            }
        }
    }

    /// Lowest priority number among the prompts of each principal that lack tokens of this step.
    fn first_priorities(&self) -> BTreeMap<u64, i32> {
        let mut firsts = BTreeMap::new();
        let prompts = self.running.iter().filter(|one| is_prompt(one) && one.scheduled < one.pending());
        for one in prompts {
            let first = firsts.entry(one.principal).or_insert(one.priority);
            *first = one.priority.min(*first);
        }
        firsts
    }
}

/// Whether the sequence isn't paused and more than its last token is to be computed.
fn is_prompt(sequence: &Sequence) -> bool {
    !sequence.paused && sequence.pending() > 1
}
