//! Preemption of one principal's sequences for another's: slots and KV blocks are shared, too, not
//! only the order of beginning.
//!
//! The next sequence takes the place of sequences of the principal that holds the most, as long as
//! that one holds more than the next one's principal then would. So a principal that is alone may
//! hold everything; and no exchange is undone by another one, since the one that gave way would
//! hold more again. A sequence gives way at most a logarithmic number of times
//! (`Sequence::protect`). Priorities choose among one principal's sequences only.

use super::Scheduler;
use super::admit::NextSequence;
use super::budget::Budget;
use super::holdings::Holdings;
use crate::sequence::Sequence;

impl Scheduler {
    /// Lets `next` begin in place of other principals' sequences; false, with nothing changed,
    /// where that isn't fair or wouldn't suffice.
    pub(super) fn give_way(&mut self, next: NextSequence, budget: &mut Budget) -> bool {
        let Some(victims) = self.victims_for(next) else { return false };
        for at in victims {
            let victim = &mut self.running[at];
            budget.tokens += victim.scheduled;
            budget.sequences += usize::from(victim.scheduled > 0);
            victim.free(&mut self.pool, &mut self.lanes);
        }
        // `next` is an index in `preempted`, which changes only after it has begun.
        let begins = budget.tokens > 0 && budget.sequences > 0 && self.begin(next, self.reserve(), budget);
        self.collect_preempted();
        begins
    }

    /// Indices in `running` of the sequences whose slots and blocks `next` needs.
    fn victims_for(&mut self, next: NextSequence) -> Option<Vec<usize>> {
        let mut holdings = Holdings::of(&self.running, &self.options, &self.pool);
        let sequence = next.sequence(&mut self.preempted, &mut self.queue);
        let principal = sequence.principal;
        if !holdings.has_others(principal) {
            return None;
        }
        let needed = self.pool.needed(&sequence.table, &sequence.tokens, sequence.reusable());
        let wanted = holdings.share_with_one_more(principal, self.pool.blocks_for(sequence.tokens.len()));
        let is_able = |one: &Sequence| one.principal != principal && !one.paused && !one.is_protected();
        let running = || self.running.iter().enumerate().filter(|(_, one)| is_able(one));
        let mut lacks_slot = self.reserve() >= self.options.sequences || !self.lanes.has_free();
        let (mut free, mut reserve) = (self.pool.free_blocks(), self.reserve());
        let mut victims = Vec::new();
        while lacks_slot || free < needed + reserve {
            let left = running().filter(|(at, _)| !victims.contains(at));
            let order = |one: &Sequence| (holdings.share(one.principal), one.priority, one.admission);
            let (at, victim) = left.max_by_key(|(_, one)| order(one))?;
            if holdings.share(victim.principal) <= wanted {
                return None;
            }
            holdings.remove(victim);
            free += self.pool.reclaimable(&victim.table);
            reserve -= 1;
            lacks_slot = false;
            victims.push(at);
        }
        (!victims.is_empty()).then_some(victims)
    }

    /// Number of blocks that the running sequences are about to need: one each.
    pub(super) fn reserve(&self) -> usize {
        self.running.iter().filter(|one| one.lane.is_some() && !one.paused).count()
    }
}
