//! An engine's reported gauges, and what they teach: how many requests it runs at once, whether its
//! KV cache is full, and how many requests it has of other hosts.

use std::time::{Duration, Instant};

/// Gauges that an engine reports at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportedLoad {
    /// Requests in the engine's batch.
    pub running: u32,
    /// Requests in the engine's queue.
    pub waiting: u32,
    /// Used share of the engine's KV cache, 0 to 1, if the engine reports it.
    pub kv_used: Option<f32>,
}

/// State of an engine as it reports it.
pub(super) struct Gauges {
    slots: u32,
    /// Whether the engine itself says how many slots it has, so that there is nothing to learn.
    has_own_slots: bool,
    last: Option<LoadReport>,
}

/// A report, with the time at which it came.
pub(super) struct LoadReport {
    at: Instant,
    load: ReportedLoad,
    others: u32,
}

impl Gauges {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots: slots.max(1), has_own_slots: false, last: None }
    }

    /// Sets the number of slots that the engine says it has; `None` if it says nothing.
    pub(super) fn set_slots(&mut self, slots: Option<u32>) {
        self.has_own_slots = slots.is_some();
        self.slots = slots.unwrap_or(self.slots).max(1);
    }

    /// Takes a report of an engine on which this router has `in_flight` requests.
    ///
    /// Unless the engine says how many slots it has, they are learned: if requests wait in two
    /// successive reports, the slots become the number of running requests. A single report may
    /// show a request on its way into the batch. If no request waits although all slots are used,
    /// the slots grow to the number of running requests and an eighth more, at least one more.
    pub(super) fn report(&mut self, load: ReportedLoad, in_flight: u32, now: Instant) {
        if !self.has_own_slots {
            self.learn(load);
        }
        let others = load.running.saturating_add(load.waiting).saturating_sub(in_flight);
        self.last = Some(LoadReport { at: now, load, others });
    }

    fn learn(&mut self, load: ReportedLoad) {
        let waited = self.last.as_ref().is_some_and(|last| last.load.waiting > 0);
        if load.waiting == 0 && load.running >= self.slots {
            self.slots = load.running.saturating_add((load.running / 8).max(1));
        } else if load.waiting > 0 && waited {
            self.slots = load.running.max(1);
        }
    }

    /// Number of requests that the engine runs without queueing.
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// The last report, unless it is too old.
    pub(super) fn fresh(&self, lifetime: Duration, now: Instant) -> Option<&LoadReport> {
        self.last.as_ref().filter(|report| now.saturating_duration_since(report.at) <= lifetime)
    }
}

impl LoadReport {
    /// Requests of other hosts.
    pub(super) fn others(&self) -> u32 {
        self.others
    }

    /// Whether more than `limit` of the KV cache was used.
    pub(super) fn is_full(&self, limit: f32) -> bool {
        self.load.kv_used.is_some_and(|used| used > limit)
    }
}
