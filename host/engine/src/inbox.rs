//! Where requests enter the engine's thread.
//!
//! Invariants: at most `limit` sequences wait for blocks, here and in the scheduler together; nothing enters once the engine has
//! stopped.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use crate::error::SubmitError;
use crate::notify::Notify;
use crate::sequence::Sequence;
use crate::sync::{Arc, Mutex, MutexGuard};

/// The queue of arrivals of one engine.
pub(crate) struct Inbox {
    limit: usize,
    state: Mutex<State>,
    notify: Arc<Notify>,
}

#[derive(Default)]
struct State {
    arrivals: VecDeque<Sequence>,
    /// Sequences that wait in the scheduler, as of its last visit.
    waiting: usize,
    stopped: bool,
}

impl Inbox {
    /// An open queue with room for `limit` waiting sequences.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), notify: Arc::default() }
    }

    /// What wakes the engine.
    pub(crate) fn notify(&self) -> &Arc<Notify> {
        &self.notify
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
        self.notify.notify();
        Ok(())
    }

    /// Takes nothing more, and wakes the engine.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.notify.notify();
    }

    /// Whether it takes nothing more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// What arrived, for a scheduler in which `waiting` sequences wait; `None` once stopped.
    pub(crate) fn take(&self, waiting: usize) -> Option<VecDeque<Sequence>> {
        self.notify.clear();
        let mut state = self.lock();
        if state.stopped {
            return None;
        }
        state.waiting = waiting + state.arrivals.len();
        Some(std::mem::take(&mut state.arrivals))
    }

    /// What arrived and was never taken, once stopped.
    pub(crate) fn rest(&self) -> VecDeque<Sequence> {
        std::mem::take(&mut self.lock().arrivals)
    }

    /// Sleeps until it is notified, or for so long; `waiting` sequences wait in the scheduler.
    pub(crate) fn sleep(&self, waiting: usize, most: Option<Duration>) {
        self.lock().waiting = waiting;
        self.notify.wait(most);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
