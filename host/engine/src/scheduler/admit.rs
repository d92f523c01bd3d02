//! Admission and preemption: which sequences get KV blocks, and which lose them.

use super::Scheduler;
use super::budget::Budget;
use super::queue::Queue;
use crate::sequence::Sequence;

/// A sequence that waits for KV blocks.
#[derive(Clone, Copy)]
pub(super) enum NextSequence {
    /// A preempted one: its index in the scheduler's `preempted`.
    Preempted(usize),
    /// The next one of the queue.
    New,
}

impl NextSequence {
    pub(super) fn sequence<'a>(
        self,
        preempted: &'a mut [Sequence],
        queue: &'a mut Queue,
    ) -> &'a mut Sequence {
        match self {
            Self::Preempted(at) => &mut preempted[at],
            Self::New => queue.next().expect("it was found there"),
        }
    }
}

impl Scheduler {
    /// Allocates the KV blocks that planned sequences lack; false when a sequence was preempted for them.
    pub(super) fn secure_blocks(&mut self) -> bool {
        let mut enough = true;
        for at in 0..self.running.len() {
            while self.running[at].scheduled > 0 && !self.grow(at) {
                if self.running[at].drop_draft() {
                    continue;
                }
                enough = false;
                let victim = self.victim();
                self.running[victim].free(&mut self.pool, &mut self.lanes);
            }
        }
        self.collect_preempted();
        enough
    }

    fn grow(&mut self, at: usize) -> bool {
        let sequence = &mut self.running[at];
        self.pool.grow(&mut sequence.table, sequence.computed + sequence.scheduled)
    }

    /// Index in `running` of the sequence to preempt: among paused ones, else among all, that of the lowest priority, and the last to begin
    /// within it.
    fn victim(&self) -> usize {
        let last = |is_meant: fn(&Sequence) -> bool| {
            let holding = self.running.iter().enumerate().filter(|(_, one)| one.lane.is_some());
            let meant = holding.filter(|(_, one)| is_meant(one));
            meant.max_by_key(|(_, one)| (one.priority, one.admission)).map(|(at, _)| at)
        };
        last(|one| one.paused).or_else(|| last(|_| true)).expect("someone holds the blocks that aren't free")
    }

    /// Moves sequences that lost their KV blocks from `running` to `preempted`.
    fn collect_preempted(&mut self) {
        for sequence in self.running.extract_if(.., |one| one.lane.is_none()) {
            self.counts.preemptions += 1;
            let at = self.preempted.partition_point(|one| one.admission < sequence.admission);
            self.preempted.insert(at, sequence);
        }
    }

    /// Lets waiting sequences begin, in order, while there is room. A preempted sequence waits until its token under way is there.
    pub(super) fn admit(&mut self, budget: &mut Budget) {
        while budget.tokens > 0 && budget.sequences > 0 {
            let Some(next) = self.next() else { break };
            if next.sequence(&mut self.preempted, &mut self.queue).steps_in_flight > 0 {
                break;
            }
            // Each running sequence is about to need one more block.
            let reserve = self.running.iter().filter(|one| !one.paused).count();
            if !self.begin(next, reserve, budget) && !self.preempt_paused(next, reserve) {
                break;
            }
        }
    }

    /// The sequence that gets KV blocks next: of the highest priority, a preempted one before a new one.
    pub(super) fn next(&mut self) -> Option<NextSequence> {
        let waiting = self.preempted.iter().enumerate().filter(|(_, one)| !one.paused);
        let preempted = waiting
            .min_by_key(|(_, one)| one.priority)
            .map(|(at, one)| (one.priority, NextSequence::Preempted(at)));
        let new = self.queue.next().map(|one| (one.priority, NextSequence::New));
        // Of equal priorities `min_by_key` takes the first: the preempted one.
        preempted.into_iter().chain(new).min_by_key(|(priority, _)| *priority).map(|(_, next)| next)
    }

    /// Gives a waiting sequence its KV blocks and its part of the step; false where blocks or lanes are lacking.
    fn begin(&mut self, next: NextSequence, reserve: usize, budget: &mut Budget) -> bool {
        let sequence = next.sequence(&mut self.preempted, &mut self.queue);
        let Some(cached) = sequence.allocate(&mut self.pool, &mut self.lanes, reserve) else { return false };
        let mut sequence = match next {
            NextSequence::Preempted(at) => self.preempted.remove(at),
            NextSequence::New => {
                let mut sequence = self.queue.pop().expect("it was found there");
                let prompt = sequence.tokens.len();
                self.counts.prompt_tokens += prompt as u64;
                self.counts.prefix_hit_tokens += cached as u64;
                self.queue.charge(sequence.principal, prompt - cached);
                sequence.admission = self.admitted;
                sequence.outlet.begin();
                self.admitted += 1;
                sequence
            }
        };
        budget.give(&mut sequence, usize::MAX);
        let at = self.running.partition_point(|one| one.admission < sequence.admission);
        self.running.insert(at, sequence);
        true
    }

    /// Preempts a paused sequence, if that can help a waiting one to begin.
    fn preempt_paused(&mut self, next: NextSequence, reserve: usize) -> bool {
        let tokens = next.sequence(&mut self.preempted, &mut self.queue).tokens.len();
        let paused = || self.running.iter().filter(|one| one.paused);
        let reclaimable: usize = paused().map(|one| self.pool.reclaimable(&one.table)).sum();
        let needed = self.pool.blocks_for(tokens) + reserve;
        let helps = reserve == 0 || self.pool.free_blocks() + reclaimable >= needed;
        if paused().next().is_none() || !helps {
            return false;
        }
        let victim = self.victim();
        self.running[victim].free(&mut self.pool, &mut self.lanes);
        self.collect_preempted();
        true
    }
}
