//! CPU time: measured by the threads that spend it, and bounded per principal by a token bucket.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use system::cpu_clock::thread_cpu_time;

/// Capacity of a bucket, as the time in which it fills.
const BURST: Duration = Duration::from_secs(20);

/// Meter of one request's CPU time on any thread. It charges the request's principal at once.
#[derive(Debug, Clone, Default)]
pub struct CpuMeter {
    /// Bucket that is charged; none if the time isn't charged.
    bucket: Option<Arc<Mutex<Bucket>>>,
}

impl CpuMeter {
    pub(super) fn new(bucket: Arc<Mutex<Bucket>>) -> Self {
        Self { bucket: Some(bucket) }
    }

    /// Runs `work` on this thread and charges its CPU time.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(bucket) = &self.bucket else { return work() };
        let before = thread_cpu_time();
        let done = work();
        let spent = thread_cpu_time().saturating_sub(before);
        bucket.lock().unwrap_or_else(PoisonError::into_inner).book(spent, Instant::now());
        done
    }

    /// Checks that the principal has CPU time left; the error is the time until it has.
    pub(super) fn check(&self) -> Result<(), Duration> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        bucket.lock().unwrap_or_else(PoisonError::into_inner).check(Instant::now())
    }
}

/// CPU time that each principal gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct CpuShare {
    /// Seconds of CPU per second.
    rate: f64,
}

impl CpuShare {
    /// Makes a share of `percent` of all cores.
    pub(super) fn new(percent: u32) -> Self {
        let cores = available_parallelism().map_or(1, std::num::NonZero::get);
        #[expect(clippy::cast_precision_loss, reason = "a few cores")]
        let cores = cores as f64;
        Self { rate: f64::from(percent) / 100.0 * cores }
    }

    /// Makes a full bucket.
    pub(super) fn bucket(self, now: Instant) -> Bucket {
        Bucket { rate: self.rate, left: self.rate * BURST.as_secs_f64(), at: now }
    }
}

/// CPU time that one principal has left. It fills at a constant rate, and work under way may
/// overdraw it.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    /// CPU time left, in seconds; negative if overdrawn.
    left: f64,
    at: Instant,
}

impl Bucket {
    /// Takes CPU time that was spent.
    pub(super) fn book(&mut self, spent: Duration, now: Instant) {
        self.fill(now);
        self.left -= spent.as_secs_f64();
    }

    /// Checks that the bucket isn't overdrawn; the error is the time until it no longer is.
    pub(super) fn check(&mut self, now: Instant) -> Result<(), Duration> {
        self.fill(now);
        if self.left >= 0.0 { Ok(()) } else { Err(Duration::from_secs_f64(-self.left / self.rate)) }
    }

    /// Adds the CPU time that the principal got since the last update.
    fn fill(&mut self, now: Instant) {
        let gone = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + gone * self.rate).min(self.rate * BURST.as_secs_f64());
    }
}
