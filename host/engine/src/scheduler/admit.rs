//! Who gets blocks, and who loses them.

use super::Scheduler;
use super::plan::Budget;
use super::queue::Queue;
use crate::sequence::Sequence;

/// A sequence that waits for blocks.
#[derive(Clone, Copy)]
pub(super) enum Next {
    /// One that lost its own: its place in their list.
    Preempted(usize),
    /// The next of those that haven't begun.
    New,
}

impl Next {
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
    /// Gets the blocks that planned sequences lack; false when some sequence was preempted for that.
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

    /// Who is preempted: of those whose client doesn't read, else of all, the lowest priority, and of that the last to begin.
    fn victim(&self) -> usize {
        let last = |is_meant: fn(&Sequence) -> bool| {
            let holding = self.running.iter().enumerate().filter(|(_, one)| one.lane.is_some());
            let meant = holding.filter(|(_, one)| is_meant(one));
            meant.max_by_key(|(_, one)| (one.priority, one.begun)).map(|(at, _)| at)
        };
        last(|one| one.paused).or_else(|| last(|_| true)).expect("someone holds the blocks that aren't free")
    }

    /// Moves sequences that lost their blocks to those that wait for new ones.
    fn collect_preempted(&mut self) {
        for sequence in self.running.extract_if(.., |one| one.lane.is_none()) {
            self.counts.preemptions += 1;
            let at = self.preempted.partition_point(|one| one.begun < sequence.begun);
            self.preempted.insert(at, sequence);
        }
    }

    /// Lets waiting sequences begin, in turn, while there is room. One that was preempted waits for its token on the way.
    pub(super) fn admit(&mut self, budget: &mut Budget) {
        while budget.tokens > 0 && budget.sequences > 0 {
            let Some(next) = self.next() else { break };
            if next.sequence(&mut self.preempted, &mut self.queue).steps_in_flight > 0 {
                break;
            }
            // Each running sequence is about to need a block more.
            let reserve = self.running.iter().filter(|one| !one.paused).count();
            if !self.begin(next, reserve, budget) && !self.preempt_paused(next, reserve) {
                break;
            }
        }
    }

    /// Who gets blocks next: of the highest priority, one that has begun before one that hasn't.
    pub(super) fn next(&mut self) -> Option<Next> {
        let waiting = self.preempted.iter().enumerate().filter(|(_, one)| !one.paused);
        let preempted =
            waiting.min_by_key(|(_, one)| one.priority).map(|(at, one)| (one.priority, Next::Preempted(at)));
        let new = self.queue.next().map(|one| (one.priority, Next::New));
        // Of equals the first is the least.
        preempted.into_iter().chain(new).min_by_key(|(priority, _)| *priority).map(|(_, next)| next)
    }

    /// Gives a waiting sequence its blocks and its part of the step; false where there aren't as many.
    fn begin(&mut self, next: Next, reserve: usize, budget: &mut Budget) -> bool {
        let sequence = next.sequence(&mut self.preempted, &mut self.queue);
        let Some(cached) = sequence.allocate(&mut self.pool, &mut self.lanes, reserve) else { return false };
        let mut sequence = match next {
            Next::Preempted(at) => self.preempted.remove(at),
            Next::New => {
                let mut sequence = self.queue.pop().expect("it was found there");
                let prompt = sequence.tokens.len();
                self.counts.prompt_tokens += prompt as u64;
                self.counts.prefix_hit_tokens += cached as u64;
                self.queue.charge(sequence.principal, prompt - cached);
                sequence.begun = self.begun;
                sequence.outlet.begin();
                self.begun += 1;
                sequence
            }
        };
        budget.give(&mut sequence, usize::MAX);
        let at = self.running.partition_point(|one| one.begun < sequence.begun);
        self.running.insert(at, sequence);
        true
    }

    /// Preempts a paused sequence, if that can help a waiting one to begin.
    fn preempt_paused(&mut self, next: Next, reserve: usize) -> bool {
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
