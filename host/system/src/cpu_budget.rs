//! CPU time that many runs of a template share: one that reaches the bound fails, and all behind it
//! do at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::cpu_clock::thread_cpu_time;

/// CPU time for several runs together. Clones are the same budget.
#[derive(Debug, Clone)]
pub struct CpuBudget {
    most: Duration,
    /// Nanoseconds that the runs took.
    taken: Arc<AtomicU64>,
}

impl CpuBudget {
    /// So much time.
    pub fn new(most: Duration) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// The time of all runs together.
    pub fn most(&self) -> Duration {
        self.most
    }

    /// Whether no time is left.
    pub fn is_spent(&self) -> bool {
        self.left().is_zero()
    }

    /// Runs `work`, which asks whether its time is exhausted: `most`, or what is left of the budget.
    pub fn run<T>(&self, most: Duration, work: impl FnOnce(&dyn Fn() -> bool) -> T) -> T {
        let (time, began) = (most.min(self.left()), thread_cpu_time());
        let done = work(&|| thread_cpu_time().saturating_sub(began) >= time);
        let taken = thread_cpu_time().saturating_sub(began).as_nanos();
        self.taken.fetch_add(u64::try_from(taken).unwrap_or(u64::MAX), Ordering::Relaxed);
        done
    }

    fn left(&self) -> Duration {
        self.most.saturating_sub(Duration::from_nanos(self.taken.load(Ordering::Relaxed)))
    }
}
