//! Snapshots of the states that a model's layers keep of a sequence: which tokens each has seen, and
//! which is given up for another.
//!
//! A state can't be cut, so a cached beginning is worth only what a snapshot covers. A snapshot
//! belongs to the cached block that ends with its last token, and goes with it. Invariants: a
//! snapshot is free, being saved, or kept, and only a kept one can be found; one that a sequence is
//! about to load isn't given up. Of those that are kept, the one goes first without which the fewest
//! tokens would be computed again, by the likelihood of that: tokens behind the nearest kept
//! beginning, less if a sequence has gone on from it already, and the less the longer it wasn't used.

use std::collections::HashMap;

/// Why a snapshot is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SnapshotRank {
    /// It may turn out to be useful: only others of this rank are given up for it.
    Spare,
    /// A sequence may go on from it: none that is wanted is given up for it.
    Possible,
    /// A sequence is likely to go on from it, which makes it a spare one, unless others did before.
    Wanted,
    /// Sequences are likely to return to it until one of them has saved another of this rank.
    Turn,
}

impl SnapshotRank {
    /// How much likelier a snapshot is used than a spare one.
    fn likelihood(self) -> u64 {
        match self {
            Self::Spare => 1,
            Self::Possible => 8,
            Self::Wanted | Self::Turn => 32,
        }
    }
}

/// A snapshot that is to be kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct SavedSnapshot {
    pub(super) number: u32,
    /// Identity of all tokens that it has seen.
    pub(super) identity: u64,
    pub(super) rank: SnapshotRank,
    /// Identity of the longest beginning that has a snapshot; 0: none has.
    pub(super) parent: u64,
    /// Number of tokens behind this beginning.
    pub(super) gap: usize,
}

/// The snapshots of a runner.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    free: Vec<u32>,
    /// By identity of all tokens that a snapshot has seen.
    kept: HashMap<u64, Kept>,
    clock: u64,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    saved: SavedSnapshot,
    used: u64,
    /// Number of sequences that have loaded it.
    loads: u32,
    /// Number of sequences that are about to load it.
    loading: u32,
}

impl Kept {
    /// Measure of how many tokens would be computed again without it.
    fn worth(&self, now: u64) -> u64 {
        // Scaled, so that small differences of age tell.
        ((self.saved.gap as u64 * self.saved.rank.likelihood()) << 16) / (now - self.used + 1)
    }
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
        let may_go = |kept: &Kept| kept.saved.rank <= rank || rank >= SnapshotRank::Wanted;
        let candidates = self.kept.values().filter(|kept| kept.loading == 0 && may_go(kept));
        let least = candidates.min_by_key(|kept| (kept.worth(self.clock), kept.saved.identity))?;
        self.forget(least.saved.identity);
        self.free.pop()
    }

    /// Gives back a snapshot that was taken and isn't kept.
    pub(super) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Keeps a snapshot that was saved. One of the same tokens stays instead, if there is one.
    pub(super) fn keep(&mut self, saved: SavedSnapshot) {
        let used = self.tick();
        if saved.rank >= SnapshotRank::Wanted {
            self.supersede(saved.parent, saved.rank);
        }
        if let Some(kept) = self.kept.get_mut(&saved.identity) {
            (kept.saved.rank, kept.used) = (kept.saved.rank.max(saved.rank), used);
            self.give_back(saved.number);
        } else {
            self.kept.insert(saved.identity, Kept { saved, used, loads: 0, loading: 0 });
        }
    }

    /// Makes snapshots spare ones that a sequence has gone on from, which saved one of the rank `by`:
    /// that of these tokens and those of their beginnings, unless several sequences went on from
    /// there.
    fn supersede(&mut self, mut identity: u64, by: SnapshotRank) {
        while let Some(Kept { saved, loads, .. }) = self.kept.get_mut(&identity) {
            let is_over = match saved.rank {
                SnapshotRank::Turn => by == SnapshotRank::Turn,
                _ => *loads < 2,
            };
            if is_over {
                saved.rank = SnapshotRank::Spare;
            }
            identity = saved.parent;
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
        (kept.saved.rank, kept.used) = (kept.saved.rank.max(SnapshotRank::Wanted), used);
        kept.loads += 1;
        kept.loading += 1;
        Some(kept.saved.number)
    }

    /// Ends what [`Self::begin_load`] began.
    pub(super) fn end_load(&mut self, identity: u64) {
        self.kept.get_mut(&identity).into_iter().for_each(|kept| kept.loading -= 1);
    }

    /// Gives up the snapshot of these tokens, unless a sequence is about to load it.
    pub(super) fn forget(&mut self, identity: u64) {
        let Some(Kept { saved, loading: 0, .. }) = self.kept.get(&identity).copied() else { return };
        self.kept.remove(&identity);
        for Kept { saved: other, .. } in self.kept.values_mut().filter(|kept| kept.saved.parent == identity) {
            (other.parent, other.gap) = (saved.parent, other.gap + saved.gap);
        }
        self.free.push(saved.number);
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Number of snapshots that are free or kept, and of those that sequences are about to load.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        let loading = self.kept.values().filter(|kept| kept.loading > 0).count();
        (self.free.len() + self.kept.len(), loading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SnapshotRank::{Possible, Spare, Turn, Wanted};

    /// Keeps a snapshot of `gap` tokens behind its parent.
    fn keep(all: &mut Snapshots, identity: u64, rank: SnapshotRank, (parent, gap): (u64, usize)) {
        let number = all.take(rank).unwrap();
        all.keep(SavedSnapshot { number, identity, rank, parent, gap });
    }

    #[test]
    fn spare_snapshots_go_first_then_the_longest_unused() {
        let mut all = Snapshots::new(3);
        for (identity, rank) in [(1, Wanted), (2, Spare), (3, Wanted)] {
            keep(&mut all, identity, rank, (0, 64));
        }
        keep(&mut all, 4, Spare, (0, 64));
        assert!(!all.has(2), "a spare one for a spare one");
        all.begin_load(4).unwrap();
        all.end_load(4);
        assert_eq!(all.take(Spare), None, "none that is wanted for a spare one");
        all.begin_load(1).unwrap();
        all.end_load(1);
        let number = all.take(Wanted).unwrap();
        assert!(all.has(1) && !all.has(3) && all.has(4));
        all.give_back(number);
        assert_eq!(all.counts(), (3, 0));
    }

    #[test]
    fn the_least_loss_of_tokens_is_chosen() {
        let mut all = Snapshots::new(3);
        keep(&mut all, 1, Possible, (0, 5000));
        keep(&mut all, 2, Possible, (1, 48));
        keep(&mut all, 3, Possible, (2, 200));
        keep(&mut all, 4, Possible, (0, 80));
        assert!(!all.has(2), "the next one lies just before it");
        keep(&mut all, 5, Possible, (0, 1000));
        assert!(!all.has(4) && all.has(3), "that one's gap has grown to 248");
    }

    #[test]
    fn a_turns_snapshot_stays_until_the_next_turns() {
        let mut all = Snapshots::new(5);
        for (identity, rank, loads) in [(1, Wanted, 1), (2, Turn, 2), (3, Wanted, 2)] {
            keep(&mut all, identity, rank, (identity - 1, 64));
            (0..loads).for_each(|_| {
                all.begin_load(identity).unwrap();
                all.end_load(identity);
            });
        }
        let ranks = |all: &Snapshots| [1, 2, 3].map(|identity| all.kept[&identity].saved.rank);
        keep(&mut all, 4, Wanted, (3, 64));
        assert_eq!(ranks(&all), [Spare, Turn, Wanted], "two went on from the last");
        keep(&mut all, 5, Turn, (4, 64));
        assert_eq!(ranks(&all), [Spare, Spare, Wanted]);
    }

    #[test]
    fn what_is_about_to_be_loaded_stays() {
        let mut all = Snapshots::new(1);
        keep(&mut all, 7, Wanted, (0, 64));
        let number = all.begin_load(7);
        assert_eq!((number.is_some(), all.begin_load(7), all.begin_load(8)), (true, number, None));
        all.end_load(7);
        all.forget(7);
        assert_eq!((all.take(Wanted), all.counts()), (None, (1, 1)));
        all.end_load(7);
        assert_eq!((all.take(Wanted), all.has(7)), (number, false));
    }
}
