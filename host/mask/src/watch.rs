//! Watchdog that cancels masks that take far too long: llguidance limits work, and with some
//! grammars that much work takes seconds.
//!
//! Time is counted in ticks of this process, so a process that was suspended cancels no mask when
//! it resumes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use llguidance::CancellationHandle;

use super::limits::MASK_TICKS;

const TICK: Duration = Duration::from_millis(100);

/// Handle of the watchdog's thread, which sleeps while no mask is computed.
pub(super) struct MaskWatch(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    watched: Vec<Watched>,
    /// Number of masks that were ever watched, from which each gets its number.
    count: u64,
    is_over: bool,
}

struct Watched {
    number: u64,
    ticks: u32,
    cancel: CancellationHandle,
}

/// Guard of a mask that is being computed; the watchdog forgets the mask when it is dropped.
pub(super) struct WatchGuard<'a> {
    number: u64,
    watch: &'a MaskWatch,
}

impl MaskWatch {
    pub(super) fn new() -> std::io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let watched = Arc::clone(&shared);
        thread::Builder::new().name("mask-watch".to_owned()).spawn(move || watched.run())?;
        Ok(Self(shared))
    }

    /// Watches a mask until the guard is dropped: `cancel` is called if the mask takes too long.
    pub(super) fn guard(&self, cancel: CancellationHandle) -> WatchGuard<'_> {
        let mut state = self.0.lock();
        state.count += 1;
        let number = state.count;
        state.watched.push(Watched { number, ticks: 0, cancel });
        drop(state);
        self.0.changed.notify_one();
        WatchGuard { number, watch: self }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let idle = |state: &mut State| state.watched.is_empty() && !state.is_over;
        loop {
            let state = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
            let is_over = state.is_over;
            drop(state);
            if is_over {
                return;
            }
            thread::sleep(TICK);
            for watched in &mut self.lock().watched {
                watched.ticks += 1;
                if watched.ticks > MASK_TICKS {
                    watched.cancel.cancel();
                }
            }
        }
    }
}

impl Drop for MaskWatch {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_one();
    }
}

impl Drop for WatchGuard<'_> {
    fn drop(&mut self) {
        self.watch.0.lock().watched.retain(|one| one.number != self.number);
    }
}
