//! Ticker: the thread that increments wasmtime's epoch, so that a guest that doesn't return is
//! interrupted.
//!
//! There is one per [`super::Runtime`], and it sleeps while no instance lives. Each instance owns a
//! [`TickerGuard`]; the first one wakes the thread, and the thread ends with the last owner of the
//! ticker. A forked process has no thread but the one that forked, so whatever enters a guest first
//! sees to it that the thread is there ([`TickerGuard::keep`]).

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use system::forks::ForkWatch;
use wasmtime::Engine;

/// Time between two epochs.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// State that the thread and its owners share.
#[derive(Default)]
struct Shared {
    /// Number of live instances; in a forked process with those that it was forked with.
    instances: AtomicUsize,
    /// Whether the thread must end: set once, when the ticker has no owner any more.
    stopped: AtomicBool,
}

/// The thread of one process. It is found without a lock, which a fork may leave locked for ever.
struct Ticking {
    /// Generation of the process ([`ForkWatch::generation`]).
    process: u32,
    thread: Thread,
    /// That of a process that was forked from this one.
    next: OnceLock<Box<Ticking>>,
}

/// Handle of the thread, which ends when the handle is dropped.
pub(super) struct Ticker {
    engine: Engine,
    shared: Arc<Shared>,
    forks: ForkWatch,
    first: Ticking,
    /// Locked while the thread is started again.
    starting: Mutex<()>,
}

impl Ticker {
    /// Starts the thread, which sleeps at first.
    pub(super) fn start(engine: Engine) -> io::Result<Arc<Self>> {
        let (shared, forks) = (Arc::new(Shared::default()), ForkWatch::begin()?);
        let first = Ticking::start(forks.generation(), &engine, &shared)?;
        Ok(Arc::new(Self { engine, shared, forks, first, starting: Mutex::default() }))
    }

    /// Keeps the epoch moving until the guard is dropped.
    ///
    /// # Errors
    /// As [`TickerGuard::keep`].
    pub(super) fn run(self: &Arc<Self>) -> io::Result<TickerGuard> {
        let ticking = self.ticking()?;
        if self.shared.instances.fetch_add(1, Ordering::AcqRel) == 0 {
            ticking.thread.unpark();
        }
        Ok(TickerGuard(Arc::clone(self)))
    }

    /// The thread of this process, which is started if a fork left it behind.
    #[inline]
    fn ticking(&self) -> io::Result<&Ticking> {
        let newest = self.newest();
        if newest.process == self.forks.generation() { Ok(newest) } else { self.start_again() }
    }

    #[cold]
    fn start_again(&self) -> io::Result<&Ticking> {
        let _alone = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        let (newest, process) = (self.newest(), self.forks.generation());
        if newest.process == process {
            return Ok(newest);
        }
        let next = Ticking::start(process, &self.engine, &self.shared)?;
        Ok(newest.next.get_or_init(|| Box::new(next)))
    }

    fn newest(&self) -> &Ticking {
        let mut newest = &self.first;
        while let Some(next) = newest.next.get() {
            newest = next;
        }
        newest
    }
}

impl Ticking {
    fn start(process: u32, engine: &Engine, shared: &Arc<Shared>) -> io::Result<Self> {
        let (engine, shared) = (engine.clone(), Arc::clone(shared));
        let name = "parser-ticker".to_owned();
        let handle = thread::Builder::new().name(name).spawn(move || tick(&engine, &shared))?;
        Ok(Self { process, thread: handle.thread().clone(), next: OnceLock::new() })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.newest().thread.unpark();
    }
}

/// Guard that keeps the epoch moving while it lives.
pub(super) struct TickerGuard(Arc<Ticker>);

impl TickerGuard {
    /// Keeps it moving in this process, too, if it was forked since.
    ///
    /// # Errors
    /// No thread can be started.
    #[inline]
    pub(super) fn keep(&self) -> io::Result<()> {
        self.0.ticking().map(drop)
    }
}

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
        let (one, two) = (ticker.run().unwrap(), ticker.run().unwrap());
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
