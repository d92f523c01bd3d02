//! Snapshots of the states that a model's layers keep of a sequence: which tokens each has seen, and
//! which is given up for another.
//!
//! A state can't be cut, so a cached beginning is worth only what a snapshot covers. A snapshot
//! belongs to the cached block that ends with its last token, and goes with it. Invariants: a
//! snapshot is free, being saved, or kept, and only a kept one can be found; one that a sequence is
//! about to load isn't given up. Of those that are kept, spare ones go first, then the one used
//! longest ago.

use std::collections::{BTreeSet, HashMap};

/// Why a snapshot is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SnapshotRank {
    /// It may turn out to be useful: saved only where no other is given up for it, but spare ones.
    Spare,
    /// A sequence is likely to go on from it.
    Wanted,
}

/// The snapshots of a runner.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    free: Vec<u32>,
    /// By identity of all tokens that a snapshot has seen.
    kept: HashMap<u64, Kept>,
    /// Kept snapshots that nobody is about to load, the first to go first, with their identities.
    order: BTreeSet<(SnapshotRank, u64, u64)>,
    clock: u64,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    number: u32,
    rank: SnapshotRank,
    used: u64,
    /// Number of sequences that are about to load it.
    loading: u32,
}

impl Snapshots {
    pub(super) fn new(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self { free: (0..count).rev().collect(), ..Self::default() }
    }

    /// Takes a snapshot to save a state in; `None` where none may be given up for it.
    pub(super) fn take(&mut self, rank: SnapshotRank) -> Option<u32> {
        if let Some(number) = self.free.pop() {
            return Some(number);
        }
        let (first, _, identity) = *self.order.first()?;
        if rank == SnapshotRank::Spare && first != SnapshotRank::Spare {
            return None;
        }
        self.forget(identity);
        self.free.pop()
    }

    /// Gives back a snapshot that was taken and isn't kept.
    pub(super) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Keeps a snapshot that was saved. One of the same tokens stays instead, if there is one.
    pub(super) fn keep(&mut self, number: u32, identity: u64, rank: SnapshotRank) {
        if self.kept.contains_key(&identity) {
            self.give_back(number);
        } else {
            let kept = Kept { number, rank, used: self.tick(), loading: 0 };
            self.order.insert((kept.rank, kept.used, identity));
            self.kept.insert(identity, kept);
        }
    }

    /// Whether there is a snapshot of these tokens.
    pub(super) fn has(&self, identity: u64) -> bool {
        self.kept.contains_key(&identity)
    }

    /// Finds a snapshot for a sequence that is about to load it.
    pub(super) fn begin_load(&mut self, identity: u64) -> Option<u32> {
        let used = self.tick();
        let kept = self.kept.get_mut(&identity)?;
        self.order.remove(&(kept.rank, kept.used, identity));
        (kept.rank, kept.used) = (SnapshotRank::Wanted, used);
        kept.loading += 1;
        Some(kept.number)
    }

    /// Ends what [`Self::begin_load`] began.
    pub(super) fn end_load(&mut self, identity: u64) {
        let Some(kept) = self.kept.get_mut(&identity) else { return };
        kept.loading -= 1;
        if kept.loading == 0 {
            self.order.insert((kept.rank, kept.used, identity));
        }
    }

    /// Gives up the snapshot of these tokens, unless a sequence is about to load it.
    pub(super) fn forget(&mut self, identity: u64) {
        let Some(Kept { number, rank, used, loading: 0 }) = self.kept.get(&identity).copied() else { return };
        self.order.remove(&(rank, used, identity));
        self.kept.remove(&identity);
        self.free.push(number);
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Number of snapshots that are free or kept, and of those that sequences are about to load.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        let loading = self.kept.values().filter(|kept| kept.loading > 0).count();
        assert_eq!(self.order.len() + loading, self.kept.len());
        (self.free.len() + self.kept.len(), loading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SnapshotRank::{Spare, Wanted};

    #[test]
    fn spare_snapshots_go_first_then_the_longest_unused() {
        let mut all = Snapshots::new(3);
        for (identity, rank) in [(1, Wanted), (2, Spare), (3, Wanted)] {
            let number = all.take(rank).unwrap();
            all.keep(number, identity, rank);
        }
        let number = all.take(Spare).unwrap();
        assert!(!all.has(2), "a spare one for a spare one");
        all.keep(number, 4, Wanted);
        assert_eq!(all.take(Spare), None, "none that is wanted for a spare one");
        all.begin_load(1).unwrap();
        all.end_load(1);
        let number = all.take(Wanted).unwrap();
        assert!(all.has(1) && !all.has(3) && all.has(4));
        all.give_back(number);
        assert_eq!(all.counts(), (3, 0));
    }

    #[test]
    fn what_is_about_to_be_loaded_stays() {
        let mut all = Snapshots::new(1);
        let number = all.take(Wanted).unwrap();
        all.keep(number, 7, Wanted);
        assert_eq!(
            (all.begin_load(7), all.begin_load(7), all.begin_load(8)),
            (Some(number), Some(number), None)
        );
        all.end_load(7);
        all.forget(7);
        assert_eq!((all.take(Wanted), all.counts()), (None, (1, 1)));
        all.end_load(7);
        assert_eq!((all.take(Wanted), all.has(7)), (Some(number), false));
    }
}
