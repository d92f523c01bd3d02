//! The scheduler's state, for tests that look at it between two steps.

use super::Scheduler;
use crate::sequence::Sequence;

impl Scheduler {
    /// Sequences that hold KV blocks, in the order in which they began.
    pub(crate) fn running(&self) -> &[Sequence] {
        &self.running
    }

    /// Sequences that haven't begun.
    pub(crate) fn queued(&self) -> impl Iterator<Item = &Sequence> {
        self.queue.sequences()
    }

    /// Number of tokens that a principal was given, as the queue counts them.
    pub(crate) fn given(&self, principal: u64) -> u64 {
        self.queue.given(principal)
    }

    /// Checks the invariants that hold between any two steps.
    pub(crate) fn audit(&self) {
        self.pool.audit(self.running.iter().map(|one| &one.table));
        let saving =
            self.steps_in_flight.iter().flat_map(|step| &step.entries).map(|entry| entry.saves.len());
        let (snapshots, loading) = self.pool.snapshot_counts();
        assert_eq!(snapshots + saving.sum::<usize>(), self.snapshots, "no snapshot is lost");
        assert!(loading <= self.running.len(), "who is about to load a snapshot runs");
        assert!(self.running.is_sorted_by(|a, b| a.admission < b.admission));
        assert!(self.preempted.is_sorted_by(|a, b| a.admission < b.admission));
        let lanes: std::collections::HashSet<_> = self.running.iter().map(|one| one.lane).collect();
        assert!(lanes.len() == self.running.len() && !lanes.contains(&None), "each has a lane of its own");
        for one in &self.running {
            let blocks = self.pool.blocks_for(one.computed);
            assert!(one.table.blocks().len() >= blocks, "what is computed is in blocks");
            assert!(one.scheduled == 0 && one.draft.is_empty(), "what was planned is under way");
            let in_flight = one.steps_in_flight > 0 || self.awaits_draws();
            assert!(in_flight || one.computed < one.tokens.len(), "a draft outlived its step");
        }
        for one in self.preempted.iter().chain(self.queued()) {
            assert!(one.computed == 0 && one.lane.is_none() && one.table.blocks().is_empty());
        }
        assert_eq!(self.queue.len(), self.queued().count());
    }
}
