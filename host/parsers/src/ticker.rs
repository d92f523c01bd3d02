//! Ticker: the thread that increments wasmtime's epoch, so that a guest that doesn't return is
//! interrupted.
//!
//! There is one per [`super::Runtime`], and it sleeps while no instance lives. Each instance owns a
//! [`TickerGuard`]; the first one wakes the thread, and the thread ends with the last owner of the
//! ticker.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::Engine;

/// Time between two epochs.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// State that the thread and its owners share.
#[derive(Default)]
struct Shared {
    /// Number of live instances.
    instances: AtomicUsize,
    /// Whether the thread must end: set once, when the ticker has no owner any more.
    stopped: AtomicBool,
}

/// Handle of the thread, which ends when the handle is dropped.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

impl Ticker {
    /// Starts the thread, which sleeps at first.
    pub(super) fn start(engine: Engine) -> io::Result<Arc<Self>> {
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let handle =
            thread::Builder::new().name("parser-ticker".to_owned()).spawn(move || tick(&engine, &seen))?;
        Ok(Arc::new(Self { shared, thread: handle.thread().clone() }))
    }

    /// Keeps the epoch moving until the guard is dropped.
    pub(super) fn run(self: &Arc<Self>) -> TickerGuard {
        if self.shared.instances.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        TickerGuard(Arc::clone(self))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Guard that keeps the epoch moving while it lives.
pub(super) struct TickerGuard(Arc<Ticker>);

impl Drop for TickerGuard {
    fn drop(&mut self) {
        self.0.shared.instances.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Body of the thread. An `unpark` that comes before `park` isn't lost: `park` then returns at
/// once.
fn tick(engine: &Engine, shared: &Shared) {
    while !shared.stopped.load(Ordering::Acquire) {
        if shared.instances.load(Ordering::Acquire) == 0 {
            thread::park();
        } else {
            engine.increment_epoch();
            thread::sleep(TICK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instance_count_follows_lives_and_the_thread_ends() {
        let ticker = Ticker::start(Engine::default()).unwrap();
        let shared = Arc::downgrade(&ticker.shared);
        let (one, two) = (ticker.run(), ticker.run());
        assert_eq!(ticker.shared.instances.load(Ordering::Acquire), 2);
        drop((one, two));
        assert_eq!(ticker.shared.instances.load(Ordering::Acquire), 0);
        drop(ticker);
        for _ in 0..1000 {
            if shared.upgrade().is_none() {
                return;
            }
            thread::sleep(TICK);
        }
        panic!("the thread still holds its state a second after the ticker was dropped");
    }
}
