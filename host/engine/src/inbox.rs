//! Queue through which requests reach the engine's thread.
//!
//! Invariant: nothing enters once the engine has stopped. `WaitingRoom` bounds the number of
//! sequences.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use crate::error::SubmitError;
use crate::notify::Notify;
use crate::sequence::Sequence;
use crate::sync::{Arc, Mutex, MutexGuard};

/// The queue of arrivals of one engine.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    notify: Arc<Notify>,
}

#[derive(Default)]
struct State {
    arrivals: VecDeque<Sequence>,
    stopped: bool,
}

impl Inbox {
    /// Notification that wakes the engine's thread.
    pub(crate) fn notify(&self) -> &Arc<Notify> {
        &self.notify
    }

    /// Queues a sequence and wakes the engine's thread; refuses it once stopped.
    pub(crate) fn push(&self, sequence: Sequence) -> Result<(), SubmitError> {
        let mut state = self.lock();
        if state.stopped {
            return Err(SubmitError::Stopped);
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

    /// Takes the sequences that have arrived; `None` once stopped.
    pub(crate) fn take(&self) -> Option<VecDeque<Sequence>> {
        self.notify.clear();
        let mut state = self.lock();
        if state.stopped {
            return None;
        }
        Some(std::mem::take(&mut state.arrivals))
    }

    /// Takes the sequences that had arrived before the stop and were never taken.
    pub(crate) fn rest(&self) -> VecDeque<Sequence> {
        std::mem::take(&mut self.lock().arrivals)
    }

    /// Sleeps until a notification comes, and no longer than `most`.
    pub(crate) fn sleep(&self, most: Option<Duration>) {
        self.notify.wait(most);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
