//! Snapshots of the states that a model's layers keep of a sequence: which tokens each has seen, and
//! which is given up for another.
//!
//! A state can't be cut, so a cached beginning is worth only what a snapshot covers. A snapshot
//! belongs to the cached block that ends with its last token, and goes with it. Invariants: a
//! snapshot is free, being saved, or kept, and only a kept one can be found; one that a sequence is
//! about to load isn't given up. The one goes first that is worth the least, a new one included: a
//! snapshot's worth is the number of tokens that would be computed again without it, times how often
//! sequences are likely to go on from it ([`Kept::worth`]).

use std::collections::HashMap;

/// Why a snapshot is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotKind {
    /// Within a long prompt.
    Prompt,
    /// Within an answer; it replaces the sequence's last one of this kind.
    Answer,
    /// A prompt departs there from one that is cached, so two sequences have gone on from there.
    Departure,
    /// A prompt ends near it.
    End,
    /// The same, and the last message is the user's.
    TurnEnd,
}

impl SnapshotKind {
    fn rank(self) -> Rank {
        match self {
            Self::Prompt => Rank::Spare,
            Self::Answer => Rank::Possible,
            Self::Departure | Self::End => Rank::Wanted,
            Self::TurnEnd => Rank::Turn,
        }
    }
}

/// How likely sequences go on from a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It may turn out to be useful.
    Spare,
    /// A sequence may go on from it.
    Possible,
    /// A sequence is likely to go on from it, which makes it a spare one, unless others did before.
    Wanted,
    /// Sequences are likely to return to it until one of them has saved another of this rank.
    Turn,
}

impl Rank {
    /// How much likelier a snapshot is used than a spare one.
    fn likelihood(self) -> u128 {
        match self {
            Self::Spare => 1,
            Self::Possible => 8,
            Self::Wanted | Self::Turn => 32,
        }
    }
}

/// What a snapshot is saved of.
#[derive(Debug, Clone, Copy)]
pub(super) struct SnapshotPlace<'a> {
    /// `[i]`: identity of all tokens up to the end of the sequence's block `i`. May end before the
    /// snapshot does, where blocks aren't in the prefix cache yet.
    pub(super) path: &'a [u64],
    /// Number of blocks that the snapshot has seen.
    pub(super) blocks: usize,
    pub(super) kind: SnapshotKind,
}

/// The snapshots of a runner.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    free: Vec<u32>,
    /// By identity of all tokens that a snapshot has seen.
    kept: HashMap<u64, Kept>,
    /// Number of all snapshots.
    count: u64,
    /// Number of sequences that have begun.
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    number: u32,
    /// Identities of all tokens up to the end of each block; the last is the snapshot's own.
    path: Box<[u64]>,
    rank: Rank,
    /// Time of the last use.
    used: u64,
    /// Time that passes between two uses.
    interval: u64,
    /// Number of sequences that have gone on from it.
    loads: u32,
    /// Number of sequences that are about to load it.
    loading: u32,
}

impl Kept {
    fn identity(&self) -> u64 {
        self.path.last().copied().unwrap_or(0)
    }

    /// Whether the snapshot's tokens are a beginning of those of this path, and end before `blocks`.
    fn begins(&self, path: &[u64], blocks: usize) -> bool {
        let own = self.path.len();
        own < blocks && path.get(own - 1) == Some(&self.identity())
    }

    /// Whether a sequence that has gone on from here, and saved a snapshot of the rank `by`, makes
    /// this one a spare one: unless several sequences went on from here.
    fn is_over(&self, by: Rank) -> bool {
        match self.rank {
            Rank::Turn => by == Rank::Turn,
            _ => by >= Rank::Wanted && self.loads < 2,
        }
    }

    /// Worth of this snapshot with this rank, if `gap` blocks would be computed again without it.
    fn worth(&self, now: u64, rank: Rank, gap: usize) -> u128 {
        worth(gap, rank, self.interval, now - self.used)
    }
}

/// Worth of a snapshot: the blocks that would be computed again without it, by how often that would
/// happen. It is used once in its interval; once it is older, it is the less likely to be used at
/// all, hence the square. Age alone would be wrong: of chats that take turns the oldest is the next.
fn worth(gap: usize, rank: Rank, interval: u64, age: u64) -> u128 {
    let wait = u128::from(age.max(interval));
    // Scaled, so that small differences of age tell.
    ((gap as u128 * rank.likelihood() * u128::from(interval)) << 40) / (wait * wait)
}

impl Snapshots {
    pub(super) fn new(count: usize) -> Self {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self { free: (0..count).rev().collect(), count: u64::from(count), ..Self::default() }
    }

    /// Takes a snapshot that is free to save a state in.
    pub(super) fn take_free(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Takes a snapshot to save a state in, for which another one is given up; `None` unless it is
    /// worth half as much again as that.
    pub(super) fn take(&mut self, place: SnapshotPlace<'_>) -> Option<u32> {
        let SnapshotPlace { path, blocks, kind } = place;
        let is_over = |kept: &Kept| kept.is_over(kind.rank()) && kept.begins(path, blocks);
        let rank_then = |kept: &Kept| if is_over(kept) { Rank::Spare } else { kept.rank };
        let candidates = self.kept.values().filter(|kept| kept.loading == 0).map(|kept| {
            let gap = self.gap(&kept.path, kept.path.len());
            (kept.worth(self.clock, rank_then(kept), gap), kept.identity())
        });
        let (least, identity) = candidates.min()?;
        let own = worth(self.gap(path, blocks), kind.rank(), self.interval(place), 0);
        // In place of the beginning that it goes on from, it is worth what that was, too.
        let follows = self.last_beginning(path, blocks).is_some_and(|kept| kept.identity() == identity)
            && rank_then(&self.kept[&identity]) <= kind.rank();
        // If a little more were enough, more chats than there are snapshots would take them from
        // each other in turn, and none would find its own again.
        if !follows && least * 3 > own * 2 {
            return None;
        }
        self.forget(identity);
        self.free.pop()
    }

    /// Gives back a snapshot that was taken and isn't kept.
    pub(super) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Keeps a snapshot that was saved, whose path ends with it. One of the same tokens stays
    /// instead, if there is one.
    pub(super) fn keep(&mut self, number: u32, place: SnapshotPlace<'_>) {
        let SnapshotPlace { path, blocks, kind } = place;
        let interval = self.interval(place);
        for kept in self.kept.values_mut().filter(|kept| kept.begins(path, blocks)) {
            if kept.is_over(kind.rank()) {
                kept.rank = Rank::Spare;
            }
        }
        let (path, used) = (Box::from(&path[..blocks]), self.clock);
        let loads = u32::from(kind == SnapshotKind::Departure);
        let new = Kept { number, path, rank: kind.rank(), used, interval, loads, loading: 0 };
        if let Some(kept) = self.kept.get_mut(&new.identity()) {
            (kept.rank, kept.used) = (kept.rank.max(new.rank), used);
            self.give_back(number);
        } else {
            self.kept.insert(new.identity(), new);
        }
    }

    /// Time between uses of a new snapshot: that of the one that it makes a spare one. For what no
    /// sequence has gone on from yet: half as long again as it takes to use all snapshots once.
    fn interval(&self, SnapshotPlace { path, blocks, kind }: SnapshotPlace<'_>) -> u64 {
        let last = self.last_beginning(path, blocks);
        let last = last.filter(|kept| kept.loads > 0 && kept.is_over(kind.rank().max(Rank::Wanted)));
        last.map_or(self.count + self.count / 2, |kept| kept.interval)
    }

    /// Number of the first `blocks` blocks of a path that are behind the last snapshot before.
    fn gap(&self, path: &[u64], blocks: usize) -> usize {
        blocks - self.last_beginning(path, blocks).map_or(0, |kept| kept.path.len())
    }

    /// The snapshot of the longest beginning of a path that ends before `blocks`.
    fn last_beginning(&self, path: &[u64], blocks: usize) -> Option<&Kept> {
        let beginnings = self.kept.values().filter(|kept| kept.begins(path, blocks));
        beginnings.max_by_key(|kept| kept.path.len())
    }

    /// Whether there is a snapshot of these tokens.
    pub(super) fn has(&self, identity: u64) -> bool {
        self.kept.contains_key(&identity)
    }

    /// Finds a snapshot for a sequence that begins, and is about to load it.
    pub(super) fn begin_load(&mut self, identity: u64) -> Option<u32> {
        self.clock += 1;
        let kept = self.kept.get_mut(&identity)?;
        kept.rank = kept.rank.max(Rank::Wanted);
        kept.interval = self.clock - kept.used;
        kept.used = self.clock;
        kept.loads += 1;
        kept.loading += 1;
        Some(kept.number)
    }

    /// Ends what [`Self::begin_load`] began.
    pub(super) fn end_load(&mut self, identity: u64) {
        self.kept.get_mut(&identity).into_iter().for_each(|kept| kept.loading -= 1);
    }

    /// Gives up the snapshot of these tokens, unless a sequence is about to load it.
    pub(super) fn forget(&mut self, identity: u64) {
        if self.kept.get(&identity).is_some_and(|kept| kept.loading == 0)
            && let Some(kept) = self.kept.remove(&identity)
        {
            self.free.push(kept.number);
        }
    }

    /// Number of snapshots that are free or kept, and of those that sequences are about to load.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        let loading = self.kept.values().filter(|kept| kept.loading > 0).count();
        (self.free.len() + self.kept.len(), loading)
    }
}

#[cfg(test)]
mod tests;
