//! What an engine reports of itself, and what is learned from it: how many requests it runs at once, whether its KV cache is
//! full, and how many requests it has of others.

use std::time::{Duration, Instant};

/// Gauges of an engine at one time.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportedLoad {
    /// Requests in its batch.
    pub running: u32,
    /// Requests in its queue.
    pub waiting: u32,
    /// Used share of its KV cache, 0 to 1, where the engine tells it.
    pub kv_used: Option<f32>,
}

/// Learned state of an engine.
pub(super) struct Gauges {
    slots: u32,
    last: Option<Report>,
}

/// Gauges as they came.
pub(super) struct Report {
    at: Instant,
    load: ReportedLoad,
    others: u32,
}

impl Gauges {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots: slots.max(1), last: None }
    }

    /// Takes a report of an engine on which this router has `in_flight` requests.
    ///
    /// Slots: if requests waited in two reports in succession, what the engine ran is what it can run (once may be a request on
    /// its way into the batch). If none wait although the slots are used, they grow by an eighth, at least by one.
    pub(super) fn report(&mut self, load: ReportedLoad, in_flight: u32, now: Instant) {
        let waited = self.last.as_ref().is_some_and(|last| last.load.waiting > 0);
        if load.waiting == 0 && load.running >= self.slots {
            self.slots = load.running.saturating_add((load.running / 8).max(1));
        } else if load.waiting > 0 && waited {
            self.slots = load.running.max(1);
        }
        let others = load.running.saturating_add(load.waiting).saturating_sub(in_flight);
        self.last = Some(Report { at: now, load, others });
    }

    /// Requests that the engine takes without queueing.
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    /// The last report, unless it is too old.
    pub(super) fn fresh(&self, lifetime: Duration, now: Instant) -> Option<&Report> {
        self.last.as_ref().filter(|report| now.saturating_duration_since(report.at) <= lifetime)
    }
}

impl Report {
    /// Requests that weren't this router's.
    pub(super) fn others(&self) -> u32 {
        self.others
    }

    /// Whether more than `limit` of the KV cache was used.
    pub(super) fn is_full(&self, limit: f32) -> bool {
        self.load.kv_used.is_some_and(|used| used > limit)
    }
}
