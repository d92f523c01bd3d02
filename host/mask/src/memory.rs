//! Memory of all compiled grammars of the process.
//!
//! Invariant: each grammar that lives, cached or used by answers, is in the sum with what it holds.
//! The sum is estimated: what the trial needed to compile a grammar, and what llguidance counts of
//! the lexer, which grows while masks are computed. New grammars get a part of the memory, so that
//! those in use have room to grow. If they outgrow it all the same, the largest grammar of the
//! principal that holds the most gives way, and no other.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::limits::{ALL_GRAMMARS_BYTES, GRAMMAR_MEMORY, NEW_GRAMMARS_BYTES};
use accounts::Principal;

/// Sum beyond which more than one grammar gives way at a time.
const FAR_TOO_MUCH: usize = ALL_GRAMMARS_BYTES / 3 * 4;

/// Why a grammar may not hold what it holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Excess {
    /// It holds more than any grammar may, which is this many bytes.
    Grammar(usize),
    /// All grammars hold too much, and its principal the most.
    All,
}

/// Memory of all grammars.
pub(super) struct GrammarMemory {
    state: Mutex<State>,
    freed: Condvar,
    /// Drops the grammars that no answer uses.
    relief: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct State {
    bytes: usize,
    /// Number of grammars that ever were, from which each gets its number.
    count: u64,
    grammars: HashMap<u64, (Principal, usize)>,
}

/// Memory of one grammar, which leaves the sum when this is dropped.
pub(super) struct HeldMemory {
    all: Arc<GrammarMemory>,
    number: u64,
}

impl GrammarMemory {
    /// No grammars. `relief` is called where they hold too much; it drops those that no answer
    /// uses.
    pub(super) fn new(relief: impl Fn() + Send + Sync + 'static) -> Self {
        Self { state: Mutex::default(), freed: Condvar::new(), relief: Box::new(relief) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that all grammars hold.
    pub(super) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// Adds a grammar of `principal` that holds `bytes`. If there is no room, waits until other
    /// grammars leave, for at most `time`.
    pub(super) fn hold(
        self: &Arc<Self>,
        principal: &Principal,
        bytes: usize,
        time: Duration,
    ) -> Option<HeldMemory> {
        let is_full = |state: &mut State| state.bytes + bytes > NEW_GRAMMARS_BYTES;
        if is_full(&mut self.lock()) {
            (self.relief)();
        }
        let waited = self.freed.wait_timeout_while(self.lock(), time, is_full);
        let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        state.count += 1;
        let number = state.count;
        state.bytes += bytes;
        state.grammars.insert(number, (principal.clone(), bytes));
        Some(HeldMemory { all: Arc::clone(self), number })
    }
}

impl State {
    /// Whether this grammar gives way: if all hold too much, the largest one of the principal that
    /// holds the most. If they hold far too much, since that one computes no mask, all of its
    /// principal.
    fn gives_way(&self, number: u64) -> bool {
        let principal = |number| self.grammars.get(&number).map(|(principal, _)| principal);
        let largest = || self.largest().unwrap_or(number);
        match self.bytes {
            bytes if bytes <= ALL_GRAMMARS_BYTES => false,
            bytes if bytes <= FAR_TOO_MUCH => largest() == number,
            _ => principal(largest()) == principal(number),
        }
    }

    /// The largest grammar of the principal that holds the most.
    fn largest(&self) -> Option<u64> {
        let mut sums = HashMap::<&Principal, usize>::new();
        for (principal, bytes) in self.grammars.values() {
            *sums.entry(principal).or_default() += bytes;
        }
        let largest = |(_, (principal, bytes)): &(&u64, &(Principal, usize))| (sums[principal], *bytes);
        self.grammars.iter().max_by_key(largest).map(|(number, _)| *number)
    }
}

impl HeldMemory {
    /// Bytes that the grammar holds.
    pub(super) fn bytes(&self) -> usize {
        self.all.lock().grammars.get(&self.number).map_or(0, |(_, bytes)| *bytes)
    }

    /// Sets what the grammar holds, and checks that it may hold that.
    pub(super) fn set(&self, bytes: usize) -> Result<(), Excess> {
        if bytes > GRAMMAR_MEMORY {
            return Err(Excess::Grammar(GRAMMAR_MEMORY));
        }
        if self.replace(bytes) > ALL_GRAMMARS_BYTES {
            (self.all.relief)();
        }
        if self.all.lock().gives_way(self.number) { Err(Excess::All) } else { Ok(()) }
    }

    /// Returns what all grammars hold then.
    fn replace(&self, bytes: usize) -> usize {
        let mut state = self.all.lock();
        if let Some((_, held)) = state.grammars.get_mut(&self.number) {
            let before = std::mem::replace(held, bytes);
            state.bytes = state.bytes - before + bytes;
        }
        state.bytes
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        let mut state = self.all.lock();
        if let Some((_, bytes)) = state.grammars.remove(&self.number) {
            state.bytes -= bytes;
        }
        drop(state);
        self.all.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static A: LazyLock<Principal> = LazyLock::new(|| Principal::new("a"));
    static B: LazyLock<Principal> = LazyLock::new(|| Principal::new("b"));
    const AT_ONCE: Duration = Duration::ZERO;

    fn memory() -> Arc<GrammarMemory> {
        Arc::new(GrammarMemory::new(|| {}))
    }

    #[test]
    fn what_is_held_is_summed_and_given_back() {
        let all = memory();
        let (one, other) = (all.hold(&A, 1000, AT_ONCE).unwrap(), all.hold(&A, 500, AT_ONCE).unwrap());
        assert_eq!(one.set(4000), Ok(()));
        assert_eq!((one.bytes(), all.bytes()), (4000, 4500));
        assert_eq!(one.set(100), Ok(()));
        assert_eq!(all.bytes(), 600);
        drop(one);
        assert_eq!(all.bytes(), 500);
        drop(other);
        assert_eq!(all.bytes(), 0);
        let large = all.hold(&A, 1, AT_ONCE).unwrap();
        assert_eq!(large.set(GRAMMAR_MEMORY + 1), Err(Excess::Grammar(GRAMMAR_MEMORY)));
    }

    #[test]
    fn new_grammar_waits_and_unused_ones_leave_first() {
        let cached: Arc<Mutex<Option<HeldMemory>>> = Arc::default();
        let drops = Arc::clone(&cached);
        let all = Arc::new(GrammarMemory::new(move || drop(drops.lock().unwrap().take())));
        *cached.lock().unwrap() = all.hold(&A, NEW_GRAMMARS_BYTES, AT_ONCE);
        let used = all.hold(&A, NEW_GRAMMARS_BYTES, AT_ONCE).unwrap();
        assert!(cached.lock().unwrap().is_none());
        assert!(all.hold(&B, 1, AT_ONCE).is_none());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| all.hold(&B, 1, Duration::from_mins(1)).is_some());
            drop(used);
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn largest_holders_largest_grammar_alone_gives_way() {
        let all = memory();
        let of = |principal: &Principal, bytes| all.hold(principal, bytes, AT_ONCE).unwrap();
        let many: Vec<_> = (0..5).map(|_| of(&A, 1)).collect();
        let one = of(&B, 1);
        assert_eq!(one.set(GRAMMAR_MEMORY), Ok(()));
        let part = (ALL_GRAMMARS_BYTES - GRAMMAR_MEMORY) / 5;
        assert!(many.iter().all(|held| held.set(part) == Ok(())));
        assert_eq!(many[0].set(part + 10), Err(Excess::All));
        assert_eq!((one.set(GRAMMAR_MEMORY), many[1].set(part)), (Ok(()), Ok(())));
    }
}
