//! Slots for compiling grammars: few at a time, since each may take a core and much memory, and principals take turns.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use crate::accounts::Principal;

/// Slots of the process. Callers wait for one in the order of the principals' turns: who has had fewest since the queue was last empty comes
/// first, and among a principal's requests the oldest. So a principal's grammar waits for at most one grammar of each other principal that
/// is ahead of it, and for its own.
pub(super) struct CompileSlots {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    free: usize,
    /// Waiting callers, oldest first.
    waiting: Vec<(u64, Principal)>,
    /// Number of callers that ever waited, from which each gets its number.
    count: u64,
    /// Slots that each principal has had while others wait.
    turns: HashMap<Principal, u64>,
}

/// Guard of a slot.
pub(super) struct CompileSlot<'a>(&'a CompileSlots);

impl CompileSlots {
    /// As many slots as half the cores, at most four.
    pub(super) fn new() -> Self {
        Self::with(available_parallelism().map_or(1, usize::from).div_ceil(2).min(4))
    }

    fn with(free: usize) -> Self {
        Self { state: Mutex::new(State { free, ..State::default() }), changed: Condvar::new() }
    }

    /// Waits for a slot. Blocks.
    pub(super) fn take(&self, principal: Principal) -> CompileSlot<'_> {
        let mut state = self.lock();
        let number = state.count;
        state.count += 1;
        state.waiting.push((number, principal));
        let wait = |state: &mut State| state.free == 0 || state.next() != Some(number);
        let mut state = self.changed.wait_while(state, wait).unwrap_or_else(PoisonError::into_inner);
        state.free -= 1;
        state.waiting.retain(|(other, _)| *other != number);
        if state.waiting.is_empty() {
            state.turns.clear();
        } else {
            *state.turns.entry(principal).or_default() += 1;
        }
        drop(state);
        // The next one may take another free slot.
        self.changed.notify_all();
        CompileSlot(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Number of the caller whose turn it is.
    fn next(&self) -> Option<u64> {
        let key = |waiting: &&(u64, Principal)| (self.turns.get(&waiting.1).copied().unwrap_or(0), waiting.0);
        self.waiting.iter().min_by_key(key).map(|(number, _)| *number)
    }
}

impl Drop for CompileSlot<'_> {
    fn drop(&mut self) {
        self.0.lock().free += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::thread;

    use super::*;

    #[test]
    fn principals_take_turns_however_many_wait() {
        let slots = CompileSlots::with(1);
        let (sent, order) = sync_channel(6);
        thread::scope(|scope| {
            let first = slots.take(Principal(0));
            for (waiting, principal) in [0, 0, 0, 1, 2, 1].into_iter().enumerate() {
                let (slots, sent) = (&slots, sent.clone());
                scope.spawn(move || {
                    let slot = slots.take(Principal(principal));
                    sent.send(principal).unwrap();
                    drop(slot);
                });
                while slots.lock().waiting.len() <= waiting {
                    thread::yield_now();
                }
            }
            drop(first);
        });
        drop(sent);
        assert_eq!(order.iter().collect::<Vec<_>>(), [0, 1, 2, 0, 1, 0]);
    }
}
