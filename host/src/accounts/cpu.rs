//! CPU time: counted by the threads that spend it, and bounded per principal by a token bucket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use crate::parser::thread_cpu_time;

/// A bucket holds what its principal gets in this time.
const BURST: Duration = Duration::from_secs(20);

/// Counts the CPU time of one request, whichever threads it is spent on.
#[derive(Debug, Clone, Default)]
pub struct CpuMeter(Arc<AtomicU64>);

impl CpuMeter {
    /// Runs `work` on this thread and counts what it takes.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = thread_cpu_time();
        let done = work();
        let spent = thread_cpu_time().saturating_sub(before);
        self.0.fetch_add(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        done
    }

    /// What was counted since the last call.
    pub(super) fn take(&self) -> Duration {
        Duration::from_nanos(self.0.swap(0, Ordering::Relaxed))
    }
}

/// What each principal gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuShare {
    /// Seconds of CPU per second.
    rate: f64,
}

impl CpuShare {
    /// `percent` of all cores.
    pub(super) fn new(percent: u32) -> Self {
        let cores = available_parallelism().map_or(1, std::num::NonZero::get);
        #[expect(clippy::cast_precision_loss, reason = "a few cores")]
        let cores = cores as f64;
        Self { rate: f64::from(percent) / 100.0 * cores }
    }

    /// A full bucket.
    pub(super) fn bucket(self, now: Instant) -> Bucket {
        Bucket { rate: self.rate, left: self.rate * BURST.as_secs_f64(), at: now }
    }
}

/// CPU time that one principal has left; it fills at its rate, and may be overdrawn by what was under way.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    /// Seconds.
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Takes what was spent. The error is the time until something is left.
    pub(super) fn book(&mut self, spent: Duration, now: Instant) -> Result<(), Duration> {
        let gone = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + gone * self.rate).min(self.rate * BURST.as_secs_f64()) - spent.as_secs_f64();
        if self.left >= 0.0 { Ok(()) } else { Err(Duration::from_secs_f64(-self.left / self.rate)) }
    }
}
