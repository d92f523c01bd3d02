//! Limits of one instance, as the data of its wasmtime store: CPU time per call and per stream,
//! memory, tables.
//!
//! CPU time is the thread's own clock, not the wall's: on a busy machine a healthy parser may wait
//! long for a core. The clock costs a system call, so it is read only when an epoch passes inside a
//! call: the first time it starts the count, later it is compared. A guest is therefore interrupted
//! one to three ticks after its time is used up.
//!
//! The clock also counts time that the guest doesn't compute: time that a hypervisor gives to other
//! machines, which comes as a few long jumps, and page faults, which wait for memory. A guest in a
//! loop notices every epoch; one that waits notices one for each wait. So a call has used up its
//! time only if it also noticed as many epochs as that time has ticks; stretches with a page fault
//! aren't counted. A guest that takes pages for as long as it can is still stopped, after
//! [`WITH_FAULTS`] times as much.
//!
//! The CPU time of a stream is sampled: each epoch that the guest notices, in whichever call,
//! counts as a tick. This catches a guest that takes a little less than a call's limit in every
//! call, at no cost for calls that take microseconds.

use std::io;
use std::time::{Duration, Instant};

use wasmtime::{ResourceLimiter, UpdateDeadline};

use super::ticker::{TICK, TickerGuard};
use crate::ParserLimits;
use system::cpu_clock::ThreadUsage;

/// Number of calls whose time limits a stream may use at once, before its share counts: an answer
/// that comes as a whole is no attack.
const BURST_CALLS: u32 = 200;

/// Maximum numbers of memories, tables and core instances of a component. Rust needs one of each;
/// interpreters come as many modules around one memory; a component of two versions of the contract
/// may be two parsers, of which only one is called.
const MEMORIES: usize = 2;
const TABLES: usize = 8;
const INSTANCES: usize = 64;
/// Maximum number of elements of one table. A parser of ours has fewer than a hundred, an
/// interpreter of another language thousands.
pub(super) const TABLE_ELEMENTS: usize = 16 << 10;

/// Limit that an instance exceeded; wasmtime carries it as the error of the call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LimitExceeded {
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

/// Limit of a call's CPU time with page faults, as a multiple of its limit without.
const WITH_FAULTS: u32 = 8;

/// CPU time and epochs of a stretch of a call.
#[derive(Debug, Default, Clone, Copy)]
struct CpuUsage {
    time: Duration,
    epochs: u32,
}

impl CpuUsage {
    fn add(&mut self, time: Duration) {
        self.time += time;
        self.epochs = self.epochs.saturating_add(1);
    }

    fn reaches(self, allowed: Duration) -> bool {
        self.time >= allowed && TICK * self.epochs >= allowed
    }
}

/// CPU time of the call in progress.
#[derive(Debug)]
struct CallTime {
    allowed: Duration,
    /// Usage of the thread at the last epoch that passed in this call.
    last: Option<ThreadUsage>,
    /// CPU time between epochs without a page fault.
    computing: CpuUsage,
    total: CpuUsage,
}

impl CallTime {
    fn new(allowed: Duration) -> Self {
        Self { allowed, last: None, computing: CpuUsage::default(), total: CpuUsage::default() }
    }

    /// Counts an epoch that passed inside the call, when the thread had used `now`.
    fn epoch(&mut self, now: ThreadUsage) -> Result<(), LimitExceeded> {
        let Some(last) = self.last.replace(now) else { return Ok(()) };
        let time = now.cpu.saturating_sub(last.cpu);
        self.total.add(time);
        if now.page_faults == last.page_faults {
            self.computing.add(time);
        }
        let is_over = self.computing.reaches(self.allowed) || self.total.reaches(WITH_FAULTS * self.allowed);
        if is_over { Err(LimitExceeded::Time(self.allowed)) } else { Ok(()) }
    }
}

/// CPU time of all calls of a stream.
#[derive(Debug)]
struct StreamTime {
    began: Instant,
    /// Number of epochs that the guest noticed.
    noticed: u32,
    /// CPU time that the stream may use at once, whatever its share.
    burst: Duration,
    /// CPU time that the stream may use besides, in percent of its duration.
    share: u32,
}

impl StreamTime {
    fn new(limits: &ParserLimits, began: Instant) -> Self {
        Self { began, noticed: 0, burst: limits.call_time * BURST_CALLS, share: limits.stream_share }
    }

    /// Counts an epoch that passed inside a call, at `now`.
    fn epoch(&mut self, now: Instant) -> Result<(), LimitExceeded> {
        self.noticed = self.noticed.saturating_add(1);
        let allowed = self.burst + now.saturating_duration_since(self.began) * self.share / 100;
        if TICK * self.noticed > allowed { Err(LimitExceeded::Share(self.share)) } else { Ok(()) }
    }
}

/// Data of an instance's store: its limits and what it has used.
pub(super) struct InstanceLimits {
    time: CallTime,
    stream: StreamTime,
    memory_bytes: usize,
    /// The size of all linear memories, which never shrink.
    memory_used: usize,
    /// The growth that was allowed last.
    growth: usize,
    running: TickerGuard,
}

impl InstanceLimits {
    /// Creates the limits of a new instance.
    pub(super) fn new(limits: &ParserLimits, running: TickerGuard) -> Self {
        Self {
            time: CallTime::new(limits.call_time),
            stream: StreamTime::new(limits, Instant::now()),
            memory_bytes: limits.memory_bytes,
            memory_used: 0,
            growth: 0,
            running,
        }
    }

    /// The size of linear memory in bytes.
    pub(super) fn memory_used(&self) -> usize {
        self.memory_used
    }

    /// Begins a call, whose time is counted from zero.
    ///
    /// # Errors
    /// Nothing could stop it.
    pub(super) fn call_begins(&mut self) -> io::Result<()> {
        self.time = CallTime::new(self.time.allowed);
        self.running.keep()
    }

    /// Counts an epoch that passed inside the call: the guest continues for one more, or is
    /// stopped.
    pub(super) fn epoch(&mut self) -> wasmtime::Result<UpdateDeadline> {
        self.time.epoch(ThreadUsage::now())?;
        self.stream.epoch(Instant::now())?;
        Ok(UpdateDeadline::Continue(1))
    }
}

/// A refusal is a trap: so the reason reaches the log, where a guest whose growth merely fails
/// would panic without one.
impl ResourceLimiter for InstanceLimits {
    /// All memories of an instance have the limit together.
    fn memory_growing(&mut self, from: usize, to: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let growth = to.saturating_sub(from);
        let used = self.memory_used.saturating_add(growth);
        if used > self.memory_bytes {
            return Err(LimitExceeded::Memory(self.memory_bytes).into());
        }
        (self.memory_used, self.growth) = (used, growth);
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory_used -= std::mem::take(&mut self.growth);
        Ok(())
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS {
            return Err(LimitExceeded::Table(TABLE_ELEMENTS).into());
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
    use super::*;
    use crate::ticker::Ticker;

    const MS: Duration = Duration::from_millis(1);

    fn usage(ms: u32, page_faults: i64) -> ThreadUsage {
        ThreadUsage { cpu: ms * MS, page_faults }
    }

    /// CPU time in ms at which a call of at most 5 ms is stopped that notices an epoch at each of
    /// `usages`.
    fn stopped_at(usages: impl IntoIterator<Item = (u32, i64)>) -> Option<u32> {
        let mut time = CallTime::new(5 * MS);
        usages.into_iter().find(|(ms, faults)| time.epoch(usage(*ms, *faults)).is_err()).map(|(ms, _)| ms)
    }

    fn without_faults(ms: impl IntoIterator<Item = u32>) -> impl Iterator<Item = (u32, i64)> {
        ms.into_iter().map(|ms| (ms, 3))
    }

    #[test]
    fn call_waiting_for_a_core_is_never_stopped() {
        assert_eq!(stopped_at(without_faults(std::iter::repeat_n(700, 10_000).chain([704]))), None);
    }

    #[test]
    fn a_call_is_stopped_when_its_own_cpu_time_is_spent() {
        assert_eq!(stopped_at(without_faults(90..200)), Some(95));
        let mut time = CallTime::new(MS);
        assert_eq!(time.epoch(usage(90, 0)), Ok(()));
        assert_eq!(time.epoch(usage(91, 0)).unwrap_err().to_string(), "used more than 1 ms of CPU");
    }

    #[test]
    fn clock_jump_between_two_epochs_stops_no_call() {
        assert_eq!(stopped_at(without_faults([90, 190, 191, 192, 193])), None);
        assert_eq!(stopped_at(without_faults([90, 190, 191, 192, 193, 194, 195])), Some(194));
    }

    #[test]
    fn guest_in_bulk_operations_is_stopped_after_a_few() {
        assert_eq!(stopped_at(without_faults((90..).step_by(8))), Some(90 + 5 * 8));
    }

    #[test]
    fn page_waits_stop_only_long_or_endless_calls() {
        let faulting = (90..130).zip(0..);
        assert_eq!(stopped_at(faulting.clone()), None);
        assert_eq!(stopped_at(faulting.take(20).chain((110..).map(|ms| (ms, 20)))), Some(115));
        assert_eq!(stopped_at((90..).zip(0..)), Some(130));
    }

    #[test]
    fn the_next_call_counts_from_nothing() {
        let running = Ticker::start(wasmtime::Engine::default()).unwrap().run().unwrap();
        let limits = ParserLimits { call_time: 2 * MS, ..ParserLimits::default() };
        let mut instance = InstanceLimits::new(&limits, running);
        for _ in 0..100 {
            instance.call_begins().unwrap();
            for clock in [90, 200] {
                assert_eq!(instance.time.epoch(usage(clock, 0)), Ok(()));
            }
        }
    }

    #[test]
    fn stream_share_is_time_beyond_two_hundred_calls() {
        let limits = ParserLimits { call_time: 5 * MS, stream_share: 10, ..ParserLimits::default() };
        let began = Instant::now();
        let noticed_until = |period: Duration| {
            let mut stream = StreamTime::new(&limits, began);
            (1..100_000).find(|epoch| stream.epoch(began + period * *epoch).is_err())
        };
        // An epoch in every tick: a second at once, and a tenth of the time meanwhile.
        assert_eq!(noticed_until(MS), Some(1112));
        // An epoch in every second tick: more than a tenth all the same.
        assert_eq!(noticed_until(2 * MS), Some(1251));
        assert_eq!(noticed_until(10 * MS), None);
        let said = StreamTime::new(&ParserLimits { call_time: Duration::ZERO, ..limits }, began).epoch(began);
        assert_eq!(said.unwrap_err().to_string(), "used more than 10 % of its stream's time");
    }

    #[test]
    fn memories_share_a_limit_and_failed_growth_is_free() {
        let limits = ParserLimits { memory_bytes: 10, ..ParserLimits::default() };
        let ticker = Ticker::start(wasmtime::Engine::default()).unwrap();
        let mut limits = InstanceLimits::new(&limits, ticker.run().unwrap());
        assert!(limits.memory_growing(0, 4, None).unwrap() && limits.memory_growing(0, 4, None).unwrap());
        assert!(limits.memory_growing(4, 7, None).is_err());
        assert!(limits.memory_growing(4, 6, None).unwrap());
        limits.memory_grow_failed(wasmtime::Error::msg("no pages")).unwrap();
        assert!(limits.memory_growing(4, 6, None).unwrap());
        assert_eq!(limits.memory_used(), 10);
    }
}
