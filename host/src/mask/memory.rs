//! Memory of all compiled grammars of the process.
//!
//! Invariant: each grammar that lives, cached or used by answers, is in the sum with what it holds. The sum is estimated: what the trial
//! needed to compile a grammar, and what llguidance counts of the lexer, which grows while masks are computed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::limits::{ALL_GRAMMARS_BYTES, GRAMMAR_MEMORY};

/// Sums of all grammars.
pub(super) struct GrammarMemory {
    bytes: AtomicUsize,
    grammars: AtomicUsize,
    /// Drops the grammars that no answer uses.
    relief: Box<dyn Fn() + Send + Sync>,
}

/// Memory of one grammar, which leaves the sum when this is dropped.
pub(super) struct HeldMemory {
    all: Arc<GrammarMemory>,
    bytes: AtomicUsize,
}

impl GrammarMemory {
    /// No grammars. `relief` is called where they hold too much; it drops those that no answer uses.
    pub(super) fn new(relief: impl Fn() + Send + Sync + 'static) -> Self {
        Self { bytes: AtomicUsize::new(0), grammars: AtomicUsize::new(0), relief: Box::new(relief) }
    }

    /// Bytes that all grammars hold.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Adds a grammar that holds `bytes`, if there is room for it.
    pub(super) fn hold(self: &Arc<Self>, bytes: usize) -> Option<HeldMemory> {
        if !self.add(bytes) {
            (self.relief)();
            if !self.add(bytes) {
                return None;
            }
        }
        self.grammars.fetch_add(1, Ordering::Relaxed);
        Some(HeldMemory { all: Arc::clone(self), bytes: AtomicUsize::new(bytes) })
    }

    fn add(&self, bytes: usize) -> bool {
        let sum = |held: usize| held.checked_add(bytes).filter(|sum| *sum <= ALL_GRAMMARS_BYTES);
        self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum).is_ok()
    }

    /// Most bytes that one grammar may hold now: fewer than usual if all hold too much, but an equal share.
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

    /// Sets what the grammar holds, and checks that it is no more than it may hold. The error is what it may hold, in bytes.
    pub(super) fn set(&self, bytes: usize) -> Result<(), usize> {
        let before = self.bytes.swap(bytes, Ordering::Relaxed);
        self.all.bytes.fetch_add(bytes.wrapping_sub(before), Ordering::Relaxed);
        if bytes > self.all.share() {
            (self.all.relief)();
        }
        let share = self.all.share();
        if bytes <= share { Ok(()) } else { Err(share) }
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
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn what_is_held_is_summed_and_given_back() {
        let all = Arc::new(GrammarMemory::new(|| {}));
        let (one, other) = (all.hold(1000).unwrap(), all.hold(500).unwrap());
        assert_eq!(one.set(4000), Ok(()));
        assert_eq!(all.bytes(), 4500);
        assert_eq!(one.set(100), Ok(()));
        assert_eq!(all.bytes(), 600);
        drop(one);
        assert_eq!(all.bytes(), 500);
        drop(other);
        assert_eq!(all.bytes(), 0);
    }

    #[test]
    fn beyond_the_room_nothing_is_added_and_the_largest_must_give_way() {
        let all = Arc::new(GrammarMemory::new(|| {}));
        let small = all.hold(1000).unwrap();
        let large: Vec<_> = (0..4).map_while(|_| all.hold(GRAMMAR_MEMORY - 250)).collect();
        assert_eq!(large.len(), 4);
        assert!(all.hold(1).is_none());
        assert_eq!(small.set(2000), Ok(()));
        assert_eq!(large[0].set(GRAMMAR_MEMORY), Err(ALL_GRAMMARS_BYTES / 5));
        assert_eq!(large[0].set(500), Ok(()));
        assert_eq!(large[1].set(GRAMMAR_MEMORY + 1), Err(GRAMMAR_MEMORY));
    }

    #[test]
    fn what_no_answer_uses_gives_way_first() {
        let cached: Arc<Mutex<Option<HeldMemory>>> = Arc::default();
        let drops = Arc::clone(&cached);
        let all = Arc::new(GrammarMemory::new(move || drop(drops.lock().unwrap().take())));
        let used: Vec<_> = (0..3).map_while(|_| all.hold(GRAMMAR_MEMORY)).collect();
        *cached.lock().unwrap() = all.hold(GRAMMAR_MEMORY);
        assert!(all.hold(1).is_some() && cached.lock().unwrap().is_none());
        *cached.lock().unwrap() = all.hold(GRAMMAR_MEMORY - 100);
        assert_eq!(used[0].set(GRAMMAR_MEMORY + 101), Err(GRAMMAR_MEMORY));
        assert!(cached.lock().unwrap().is_none());
    }
}
