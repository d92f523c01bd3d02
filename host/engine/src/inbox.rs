//! Where requests enter the engine's thread, and where that thread sleeps.
//!
//! Invariants: at most `limit` sequences wait for blocks, here and in the scheduler together; a ring is never lost
//! (one that comes while the engine works ends its next sleep at once); nothing enters once the engine has stopped.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::generation::SubmitError;
use crate::sequence::Sequence;

/// The door of one engine.
pub(crate) struct Inbox {
    limit: usize,
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Default)]
struct State {
    arrivals: VecDeque<Sequence>,
    /// Sequences that wait in the scheduler, as of its last visit.
    waiting: usize,
    rung: bool,
    stopped: bool,
}

impl Inbox {
    /// An open door with room for `limit` waiting sequences.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), bell: Condvar::new() }
    }

    /// Puts a sequence in line.
    pub(crate) fn push(&self, sequence: Sequence) -> Result<(), SubmitError> {
        let mut state = self.lock();
        let waiting = state.arrivals.len() + state.waiting;
        if state.stopped {
            return Err(SubmitError::Stopped);
        }
        if waiting >= self.limit {
            return Err(SubmitError::Busy(waiting));
        }
        state.arrivals.push_back(sequence);
        drop(state);
        self.bell.notify_one();
        Ok(())
    }

    /// Wakes the engine: a paused sequence has room again, or a client left.
    pub(crate) fn ring(&self) {
        self.lock().rung = true;
        self.bell.notify_one();
    }

    /// Closes the door and wakes the engine.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.bell.notify_one();
    }

    /// Whether the door is closed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// What arrived, for a scheduler in which `waiting` sequences wait; `None` once stopped.
    pub(crate) fn take(&self, waiting: usize) -> Option<VecDeque<Sequence>> {
        let mut state = self.lock();
        if state.stopped {
            return None;
        }
        state.rung = false;
        state.waiting = waiting + state.arrivals.len();
        Some(std::mem::take(&mut state.arrivals))
    }

    /// What arrived and was never taken, once stopped.
    pub(crate) fn rest(&self) -> VecDeque<Sequence> {
        std::mem::take(&mut self.lock().arrivals)
    }

    /// Sleeps until something arrives, rings or stops the engine; `waiting` sequences wait in the scheduler.
    pub(crate) fn sleep(&self, waiting: usize) {
        let mut state = self.lock();
        state.waiting = waiting;
        let idle = |state: &mut State| !state.rung && !state.stopped && state.arrivals.is_empty();
        drop(self.bell.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
