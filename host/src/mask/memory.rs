//! Memory of all compiled grammars of the process.
//!
//! Invariant: each grammar that lives, cached or used by answers, is in the sum with what it holds. The sum is estimated: what the trial
//! needed to compile a grammar, and what llguidance counts of the lexer, which grows while masks are computed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::limits::{ALL_GRAMMARS_BYTES, GRAMMAR_MEMORY};

/// Sums of all grammars.
#[derive(Debug, Default)]
pub(super) struct GrammarMemory {
    bytes: AtomicUsize,
    grammars: AtomicUsize,
}

/// Memory of one grammar, which leaves the sum when this is dropped.
#[derive(Debug)]
pub(super) struct HeldMemory {
    all: Arc<GrammarMemory>,
    bytes: AtomicUsize,
}

impl GrammarMemory {
    /// Bytes that all grammars hold.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds a grammar that holds `bytes`, if there is room for it.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Option<HeldMemory> {
        let room = ALL_GRAMMARS_BYTES.checked_sub(bytes)?;
        let fits = |held| (held <= room).then(|| held + bytes);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        self.grammars.fetch_add(1, Ordering::Relaxed);
        Some(HeldMemory { all: Arc::clone(self), bytes: AtomicUsize::new(bytes) })
    }

    /// Most bytes that one grammar may hold now: all that is left over if there is room, an equal share if there is none.
    fn share(&self) -> usize {
        if self.bytes() <= ALL_GRAMMARS_BYTES {
            return GRAMMAR_MEMORY;
        }
        GRAMMAR_MEMORY.min(ALL_GRAMMARS_BYTES / self.grammars.load(Ordering::Relaxed).max(1))
    }
}

impl HeldMemory {
    /// Bytes that the grammar holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sets what the grammar holds.
    pub(super) fn set(&self, bytes: usize) {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        self.all.bytes.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Checks that the grammar holds no more than it may. The error is what it may hold, in bytes.
    pub(super) fn is_within(&self) -> Result<(), usize> {
        let share = self.all.share();
        if self.bytes() <= share { Ok(()) } else { Err(share) }
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.all.bytes.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
        self.all.grammars.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_summed_and_given_back() {
        let all = Arc::<GrammarMemory>::default();
        let (one, other) = (all.hold(1000).unwrap(), all.hold(500).unwrap());
        one.set(4000);
        assert_eq!(all.bytes(), 4500);
        one.set(100);
        assert_eq!(all.bytes(), 600);
        drop(one);
        assert_eq!(all.bytes(), 500);
        drop(other);
        assert_eq!(all.bytes(), 0);
    }

    #[test]
    fn beyond_the_room_nothing_is_added_and_the_largest_must_give_way() {
        let all = Arc::<GrammarMemory>::default();
        let small = all.hold(1000).unwrap();
        let large: Vec<_> = (0..4).map_while(|_| all.hold(GRAMMAR_MEMORY - 250)).collect();
        assert_eq!(large.len(), 4);
        assert!(all.hold(1).is_none());
        assert_eq!(large[0].is_within(), Ok(()));
        small.set(2000);
        assert_eq!(large[0].is_within(), Err(ALL_GRAMMARS_BYTES / 5));
        assert_eq!(small.is_within(), Ok(()));
        large[0].set(500);
        large[1].set(GRAMMAR_MEMORY + 1);
        assert_eq!(large[1].is_within(), Err(GRAMMAR_MEMORY));
    }
}
