//! The clock of one answer: the time of the answer's last input, so that what is made of the inputs
//! depends on nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A clock that stands still between two ticks. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// A clock that shows the system's time of now.
    pub fn system() -> Self {
        Self::at(system_millis())
    }

    /// A clock that shows this time, in milliseconds since 1970, UTC.
    pub fn at(millis: u64) -> Self {
        Self(Arc::new(AtomicU64::new(millis)))
    }

    /// Moves the clock to the system's time, and never back. Returns the time in milliseconds.
    pub fn tick(&self) -> u64 {
        let now = system_millis();
        self.0.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Moves the clock to this time in milliseconds, as it was recorded.
    pub fn set(&self, millis: u64) {
        self.0.store(millis, Ordering::Relaxed);
    }

    /// The time in milliseconds since 1970, UTC.
    pub fn millis(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The time in seconds since 1970, UTC.
    pub fn now(&self) -> u64 {
        self.millis() / 1000
    }
}

fn system_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
