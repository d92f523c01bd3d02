//! Notifications that wake the engine's thread.
//!
//! Invariant: a notification is never lost: one that comes while the engine works ends its next
//! sleep at once.

use std::sync::PoisonError;
use std::time::Duration;

use crate::sync::{Condvar, Mutex, MutexGuard};

/// A notification for one thread, kept until that thread waits or clears it.
#[derive(Debug, Default)]
pub(crate) struct Notify {
    pending: Mutex<bool>,
    wake: Condvar,
}

impl Notify {
    /// Wakes the engine: a request came, a paused sequence has room again, a client left, or the
    /// engine is to stop.
    pub(crate) fn notify(&self) {
        *self.lock() = true;
        self.wake.notify_one();
    }

    /// Clears earlier notifications. The caller then looks at everything that they may have been
    /// for.
    pub(crate) fn clear(&self) {
        *self.lock() = false;
    }

    /// Sleeps until a notification comes, and no longer than `most`. With a limit it may also wake
    /// early without a notification.
    pub(crate) fn wait(&self, most: Option<Duration>) {
        let mut pending = self.lock();
        while !*pending {
            let Some(most) = most else {
                pending = self.wake.wait(pending).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(self.wake.wait_timeout(pending, most).unwrap_or_else(PoisonError::into_inner));
            break;
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
