//! What is counted for a row, and the clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Millis;

/// What is counted for a response, a conversation or a chunk beside its bodies: the row and its
/// places in indexes.
pub const ROW_BYTES: u64 = 300;
/// What is counted for an item beside its id and body.
pub const ITEM_BYTES: u64 = 100;
/// Raw bytes of one chunk at most; longer ones are stored as several.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;
/// Reading something renews its age, but at most this often: a read is no write otherwise.
pub(crate) const TOUCH: Duration = Duration::from_hours(1);
/// Responses that one sweep takes over.
pub(crate) const SWEPT: usize = 64;

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

    /// Time that has passed since some moment of this process, however the date is set meanwhile.
    pub(crate) fn elapsed(&self) -> Millis {
        static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
        match &self.0 {
            Some(time) => time.elapsed.load(Ordering::Relaxed),
            None => millis(BEGAN.elapsed()),
        }
    }
}

pub(crate) fn millis(duration: Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap_or(i64::MAX.unsigned_abs())
}
