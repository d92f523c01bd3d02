//! Ticket lock of a device that several engines share: one step at a time, in the order in which
//! the engines asked.
//!
//! Invariant: an engine waits for at most one step of each other engine, since an engine that asks
//! again is placed behind all that wait.
//!
//! A lock for each operation would be as correct, but would mix steps: caches would get cold, and
//! every step would last longer.

use std::sync::PoisonError;

use crate::sync::{Condvar, Mutex, MutexGuard};

/// Fair mutex: locked in the order of the calls.
#[derive(Debug, Default)]
pub struct DeviceLock {
    state: Mutex<Tickets>,
    passed: Condvar,
}

#[derive(Debug, Default)]
struct Tickets {
    /// Ticket for the next call.
    next: u64,
    /// The ticket that has the lock.
    serving: u64,
}

/// Guard of the device; dropping it passes the lock on.
#[derive(Debug)]
pub(crate) struct DeviceGuard<'a>(&'a DeviceLock);

impl DeviceLock {
    /// Locks the device, and waits until it is free.
    pub(crate) fn take(&self) -> DeviceGuard<'_> {
        let mut tickets = self.lock();
        let mine = tickets.next;
        tickets.next += 1;
        while tickets.serving != mine {
            tickets = self.passed.wait(tickets).unwrap_or_else(PoisonError::into_inner);
        }
        DeviceGuard(self)
    }

    fn lock(&self) -> MutexGuard<'_, Tickets> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DeviceGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().serving += 1;
        self.0.passed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::DeviceLock;

    /// Waits until `drawn` tickets were taken.
    fn await_tickets(lock: &DeviceLock, drawn: u64) {
        while lock.lock().next < drawn {
            std::thread::yield_now();
        }
    }

    #[test]
    fn lock_goes_in_order_of_asking_and_returners_last() {
        let (lock, order) = (DeviceLock::default(), Mutex::new(Vec::new()));
        let take = |name| {
            let _device = lock.take();
            order.lock().unwrap().push(name);
        };
        std::thread::scope(|scope| {
            let held = lock.take();
            for (drawn, name) in [(2, "first"), (3, "second"), (4, "third")] {
                scope.spawn(move || take(name));
                await_tickets(&lock, drawn);
            }
            drop(held);
            take("again");
        });
        assert_eq!(order.into_inner().unwrap(), ["first", "second", "third", "again"]);
    }

    #[test]
    fn a_holder_that_panics_passes_it_on() {
        let lock = DeviceLock::default();
        let panicked = std::panic::catch_unwind(|| {
            let _device = lock.take();
            panic!("while it holds the device");
        });
        assert!(panicked.is_err());
        drop(lock.take());
    }
}
