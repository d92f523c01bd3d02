//! Admission and preemption: which sequences get KV blocks, and which lose them.

use super::Scheduler;
use super::budget::Budget;
use super::holdings::Holdings;
use super::queue::Queue;
use crate::sequence::Sequence;
use crate::waiting_room::Place;

/// A sequence that waits for KV blocks.
#[derive(Clone, Copy)]
pub(super) enum NextSequence {
    /// A preempted one: its index in the scheduler's `preempted`.
    Preempted(usize),
    /// The first one in the queue's line of this principal.
    New(u64),
}

impl NextSequence {
    pub(super) fn sequence<'a>(
        self,
        preempted: &'a mut [Sequence],
        queue: &'a mut Queue,
    ) -> &'a mut Sequence {
        match self {
            Self::Preempted(at) => &mut preempted[at],
            Self::New(principal) => queue.first(principal).expect("it was found there"),
        }
    }
}

impl Scheduler {
    /// Allocates the KV blocks that planned sequences lack; false when a sequence was preempted for
    /// them.
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

    /// Index in `running` of the sequence to preempt: among paused ones, else among all, one of the
    /// principal that holds the most; of its sequences the one of the lowest priority, and the last
    /// to begin within it. Sequences that were preempted lately are spared, if principals compete.
    fn victim(&self) -> usize {
        let holdings = Holdings::of(&self.running, &self.options, &self.pool);
        let last = |is_meant: fn(&Sequence) -> bool| {
            let holding = self.running.iter().enumerate().filter(|(_, one)| one.lane.is_some());
            let meant = holding.filter(|(_, one)| is_meant(one));
            meant.max_by_key(|(_, one)| {
                let is_spared = holdings.are_shared() && one.is_protected();
                (!is_spared, holdings.share(one.principal), one.priority, one.admission)
            })
        };
        let last = last(|one| one.paused).or_else(|| last(|_| true));
        last.map(|(at, _)| at).expect("someone holds the blocks that aren't free")
    }

    /// Moves sequences that lost their KV blocks from `running` to `preempted`.
    pub(super) fn collect_preempted(&mut self) {
        for mut sequence in self.running.extract_if(.., |one| one.lane.is_none()) {
            self.counts.preemptions += 1;
            if !sequence.paused {
                sequence.protect();
            }
            sequence.place.as_mut().map(Place::take_again);
            let at = self.preempted.partition_point(|one| one.admission < sequence.admission);
            self.preempted.insert(at, sequence);
        }
    }

    /// Lets waiting sequences begin, in order, while there is room. Once in a step, a principal
    /// that holds more gives way to the next one. A preempted sequence waits until its token under
    /// way is there.
    pub(super) fn admit(&mut self, budget: &mut Budget) {
        let mut has_given_way = false;
        while let Some(next) = self.next() {
            if next.sequence(&mut self.preempted, &mut self.queue).steps_in_flight > 0 {
                break;
            }
            let reserve = self.reserve();
            let has_room = budget.tokens > 0 && budget.sequences > 0;
            if has_room && (self.begin(next, reserve, budget) || self.preempt_paused(next, reserve)) {
                continue;
            }
            if has_given_way || !self.give_way(next, budget) {
                break;
            }
            has_given_way = true;
        }
    }

    /// The sequence that gets KV blocks next: of the principal that was given the fewest tokens,
    /// the one of the highest priority, a preempted one before a new one.
    pub(super) fn next(&mut self) -> Option<NextSequence> {
        let waiting = self.preempted.iter().enumerate().filter(|(_, one)| !one.paused);
        let principal = self.queue.next_principal(waiting.clone().map(|(_, one)| one.principal))?;
        let preempted = waiting
            .filter(|(_, one)| one.principal == principal)
            .min_by_key(|(_, one)| one.priority)
            .map(|(at, one)| (one.priority, NextSequence::Preempted(at)));
        let new = self.queue.first(principal).map(|one| (one.priority, NextSequence::New(principal)));
        // Of equal priorities `min_by_key` takes the first: the preempted one.
        preempted.into_iter().chain(new).min_by_key(|(priority, _)| *priority).map(|(_, next)| next)
    }

    /// Gives a waiting sequence its KV blocks and its part of the step; false where blocks or lanes
    /// are lacking.
    pub(super) fn begin(&mut self, next: NextSequence, reserve: usize, budget: &mut Budget) -> bool {
        let sequence = next.sequence(&mut self.preempted, &mut self.queue);
        let Some(cached) = sequence.allocate(&mut self.pool, &mut self.lanes, reserve) else { return false };
        let mut sequence = match next {
            NextSequence::Preempted(at) => self.preempted.remove(at),
            NextSequence::New(principal) => {
                let mut sequence = self.queue.pop(principal).expect("it was found there");
                let prompt = sequence.tokens.len();
                self.counts.prompt_tokens += prompt as u64;
                self.counts.prefix_hit_tokens += cached as u64;
                self.queue.charge(sequence.principal, prompt - cached);
                sequence.admission = self.admitted;
                sequence.queued = self.now.saturating_sub(sequence.queued_at);
                sequence.outlet.begin();
                self.admitted += 1;
                sequence
            }
        };
        sequence.place.as_mut().map(Place::leave);
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
