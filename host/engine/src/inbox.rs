//! Queue through which requests reach the engine's thread.
//!
//! Invariants: at most `limit` sequences wait for KV blocks, here and in the scheduler together; nothing enters once the engine has
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
    /// Number of sequences that wait in the scheduler, as the engine's thread said last.
    waiting: usize,
    stopped: bool,
}

impl Inbox {
    /// An open queue with room for `limit` waiting sequences.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), notify: Arc::default() }
    }

    /// Notification that wakes the engine's thread.
    pub(crate) fn notify(&self) -> &Arc<Notify> {
        &self.notify
    }

    /// Queues a sequence and wakes the engine's thread; refuses it when the queue is full or stopped.
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

    /// Closes the queue for new sequences, and wakes the engine's thread.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.notify.notify();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Takes the sequences that have arrived; `None` once stopped. `waiting` is the number of sequences that wait in the scheduler.
    pub(crate) fn take(&self, waiting: usize) -> Option<VecDeque<Sequence>> {
        self.notify.clear();
        let mut state = self.lock();
        if state.stopped {
            return None;
        }
        state.waiting = waiting + state.arrivals.len();
        Some(std::mem::take(&mut state.arrivals))
    }

    /// Takes the sequences that had arrived before the stop and were never taken.
    pub(crate) fn rest(&self) -> VecDeque<Sequence> {
        std::mem::take(&mut self.lock().arrivals)
    }

    /// Sleeps until a notification comes, and no longer than `most`. `waiting` is the number of sequences that wait in the scheduler.
    pub(crate) fn sleep(&self, waiting: usize, most: Option<Duration>) {
        self.lock().waiting = waiting;
        self.notify.wait(most);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
