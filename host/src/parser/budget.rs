//! What one instance may use, as the data of its wasmtime store: CPU time per call and per stream, memory, tables.
//!
//! CPU time is the thread's own clock, not the wall's: on a busy machine a healthy parser may wait long for a core.
//! The clock costs a system call, so it is read only when an epoch passes inside a call: the first time it starts the
//! count, later it is compared. A guest is therefore interrupted one to three ticks after its time is spent.
//!
//! The clock also counts page faults, and time that a hypervisor gives to others. Either comes as a few long jumps, in which the
//! guest runs no code and notices no epoch; a guest in a loop notices each. A call has spent its time only if both agree.
//!
//! The CPU time of a stream is sampled: each epoch that the guest notices, in whichever call, stands for a tick. A guest that takes a little
//! less than a call may in every call is caught by that, at no cost to those that take microseconds.

use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, UpdateDeadline};

use super::ticker::{Running, TICK};
use crate::cpu_clock::thread_cpu_time;
use crate::limits::ParserLimits;

/// A stream may use the time of so many calls at once, before its share counts: an answer that comes as a whole is no attack.
const BURST_CALLS: u32 = 200;

/// Memories, tables and core instances of a component. Rust needs one of each; interpreters come as many modules around one memory.
const MEMORIES: usize = 1;
const TABLES: usize = 8;
const INSTANCES: usize = 64;
/// Elements of one table.
const TABLE_ELEMENTS: usize = 16 << 10;

/// Which bound an instance ran into; wasmtime carries it as the error of the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Exceeded {
    /// CPU time of one call.
    #[error("used more than {} ms of CPU", .0.as_millis())]
    Time(Duration),
    /// CPU time of all calls of a stream.
    #[error("used more than {0} % of its stream's time")]
    Share(u32),
    /// Linear memory.
    #[error("memory limit {} MiB", .0 >> 20)]
    Memory(usize),
    /// A table.
    #[error("table limit {0} elements")]
    Table(usize),
}

/// CPU time of the call in progress.
#[derive(Debug)]
struct CallTime {
    allowed: Duration,
    /// The thread's clock at the first epoch that passed in this call.
    since: Option<Duration>,
    /// Epochs that the guest noticed after that one.
    noticed: u32,
}

impl CallTime {
    fn new(allowed: Duration) -> Self {
        Self { allowed, since: None, noticed: 0 }
    }

    /// An epoch passed inside the call, when the thread's CPU clock stood at `clock`.
    fn epoch(&mut self, clock: Duration) -> Result<(), Exceeded> {
        let Some(since) = self.since else {
            self.since = Some(clock);
            return Ok(());
        };
        self.noticed = self.noticed.saturating_add(1);
        let is_over = clock.saturating_sub(since) >= self.allowed && TICK * self.noticed >= self.allowed;
        if is_over { Err(Exceeded::Time(self.allowed)) } else { Ok(()) }
    }
}

/// CPU time of all calls of a stream.
#[derive(Debug)]
struct StreamTime {
    began: Instant,
    /// Epochs that the guest noticed.
    noticed: u32,
    /// What it may use at once, whatever its share.
    burst: Duration,
    /// Percent of the stream's time.
    share: u32,
}

impl StreamTime {
    fn new(limits: &ParserLimits, began: Instant) -> Self {
        Self { began, noticed: 0, burst: limits.call_time * BURST_CALLS, share: limits.stream_share }
    }

    /// An epoch passed inside a call, at `now`.
    fn epoch(&mut self, now: Instant) -> Result<(), Exceeded> {
        self.noticed = self.noticed.saturating_add(1);
        let allowed = self.burst + now.saturating_duration_since(self.began) * self.share / 100;
        if TICK * self.noticed > allowed { Err(Exceeded::Share(self.share)) } else { Ok(()) }
    }
}

/// Data of an instance's store.
pub(super) struct Budget {
    time: CallTime,
    stream: StreamTime,
    memory_bytes: usize,
    /// The largest size that linear memory has had.
    memory_used: usize,
    _running: Running,
}

impl Budget {
    /// The budget of a fresh instance.
    pub(super) fn new(limits: &ParserLimits, running: Running) -> Self {
        Self {
            time: CallTime::new(limits.call_time),
            stream: StreamTime::new(limits, Instant::now()),
            memory_bytes: limits.memory_bytes,
            memory_used: 0,
            _running: running,
        }
    }

    /// The largest size in bytes that linear memory has had.
    pub(super) fn memory_used(&self) -> usize {
        self.memory_used
    }

    /// A call begins; its time is counted from nothing.
    pub(super) fn call_begins(&mut self) {
        self.time = CallTime::new(self.time.allowed);
    }

    /// An epoch passed inside the call: go on for one more, or stop.
    pub(super) fn epoch(&mut self) -> wasmtime::Result<UpdateDeadline> {
        self.time.epoch(thread_cpu_time())?;
        self.stream.epoch(Instant::now())?;
        Ok(UpdateDeadline::Continue(1))
    }
}

/// Refusals are traps: the reason then reaches the log, where a guest that is merely told "no" would panic without one.
impl ResourceLimiter for Budget {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.memory_bytes {
            return Err(Exceeded::Memory(self.memory_bytes).into());
        }
        self.memory_used = self.memory_used.max(desired);
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS {
            return Err(Exceeded::Table(TABLE_ELEMENTS).into());
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        TABLES
    }

    fn memories(&self) -> usize {
        MEMORIES
    }
}

#[cfg(test)]
mod tests {
    use super::super::ticker::Ticker;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// What comes of each epoch that a call of at most 5 ms notices with its clock at so many milliseconds.
    fn stopped_at(clocks: impl IntoIterator<Item = u32>) -> Option<u32> {
        let mut time = CallTime::new(5 * MS);
        clocks.into_iter().find(|ms| time.epoch(*ms * MS).is_err())
    }

    #[test]
    fn a_call_that_waits_for_a_core_is_not_stopped_however_many_epochs_pass() {
        assert_eq!(stopped_at(std::iter::repeat_n(700, 10_000).chain([704])), None);
    }

    #[test]
    fn a_call_is_stopped_when_its_own_cpu_time_is_spent() {
        assert_eq!(stopped_at(90..200), Some(95));
        let mut time = CallTime::new(MS);
        assert_eq!(time.epoch(90 * MS), Ok(()));
        assert_eq!(time.epoch(91 * MS).unwrap_err().to_string(), "used more than 1 ms of CPU");
    }

    #[test]
    fn a_jump_of_the_clock_between_two_epochs_stops_no_call() {
        assert_eq!(stopped_at([90, 190, 191, 192, 193]), None);
        assert_eq!(stopped_at([90, 190, 191, 192, 193, 194, 195]), Some(194));
    }

    #[test]
    fn a_guest_in_bulk_operations_of_several_ticks_is_stopped_after_a_few_of_them() {
        assert_eq!(stopped_at((90..).step_by(8)), Some(90 + 5 * 8));
    }

    #[test]
    fn the_next_call_counts_from_nothing() {
        let running = Ticker::start(wasmtime::Engine::default()).unwrap().run();
        let limits = ParserLimits { call_time: 2 * MS, ..ParserLimits::default() };
        let mut budget = Budget::new(&limits, running);
        for _ in 0..100 {
            budget.call_begins();
            for clock in [90, 200] {
                assert_eq!(budget.time.epoch(clock * MS), Ok(()));
            }
        }
    }

    #[test]
    fn a_stream_may_use_its_share_of_time_beyond_what_two_hundred_calls_may() {
        let limits = ParserLimits { call_time: 5 * MS, stream_share: 10, ..ParserLimits::default() };
        let began = Instant::now();
        let noticed_until = |period: Duration| {
            let mut stream = StreamTime::new(&limits, began);
            (1..100_000).find(|epoch| stream.epoch(began + period * *epoch).is_err())
        };
        // In every tick: a second at once, and a tenth of the time meanwhile.
        assert_eq!(noticed_until(MS), Some(1112));
        // In every second tick: more than a tenth all the same.
        assert_eq!(noticed_until(2 * MS), Some(1251));
        assert_eq!(noticed_until(10 * MS), None);
        let said = StreamTime::new(&ParserLimits { call_time: Duration::ZERO, ..limits }, began).epoch(began);
        assert_eq!(said.unwrap_err().to_string(), "used more than 10 % of its stream's time");
    }
}
