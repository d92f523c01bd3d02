//! The database's clock. Invariant: a transaction has one moment, which its database says and its
//! caller doesn't, so hosts that share a database needn't agree on the time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Millis;
use crate::bounds::millis;

/// When a transaction happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Date, by which things age.
    pub(crate) date: Millis,
    /// Time that has passed since a moment that all who hold leases share: a date that is set ends
    /// no lease. In SQLite it is this process's, since opening the file ends all leases.
    pub(crate) passed: Millis,
}

/// The time: the system's, or one that a test sets.
#[derive(Clone, Debug, Default)]
pub struct TimeSource(Option<Arc<ManualTime>>);

#[derive(Debug)]
struct ManualTime {
    date: AtomicU64,
    elapsed: AtomicU64,
}

impl TimeSource {
    /// A clock that stands still until it is advanced.
    pub fn manual(start: Millis) -> Self {
        Self(Some(Arc::new(ManualTime { date: start.into(), elapsed: 0.into() })))
    }

    /// Advances a manual clock; the system's isn't ours to set.
    pub fn advance(&self, by: Duration) {
        if let Some(time) = &self.0 {
            time.date.fetch_add(millis(by), Ordering::Relaxed);
            time.elapsed.fetch_add(millis(by), Ordering::Relaxed);
        }
    }

    /// Sets a manual clock to another date, as an operator sets the system's: no time passes.
    pub fn set(&self, date: Millis) {
        if let Some(time) = &self.0 {
            time.date.store(date, Ordering::Relaxed);
        }
    }

    /// The time now.
    pub fn now(&self) -> Millis {
        match &self.0 {
            Some(time) => time.date.load(Ordering::Relaxed),
            None => millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
        }
    }

    /// Whether a test sets it.
    pub(crate) fn is_manual(&self) -> bool {
        self.0.is_some()
    }

    /// The moment of a transaction that begins now.
    pub(crate) fn moment(&self) -> Moment {
        Moment { date: self.now(), passed: self.elapsed() }
    }

    /// Time that has passed since some moment of this process, however the date is set meanwhile.
    fn elapsed(&self) -> Millis {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        match &self.0 {
            Some(time) => time.elapsed.load(Ordering::Relaxed),
            None => millis(BEGAN.elapsed()),
        }
    }
}
