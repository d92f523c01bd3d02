//! Engines of a router and their state: the list, and the load of each engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seeded::fnv1a;

use super::RoutingOptions;
use super::breaker::{Breaker, BreakerOptions, BreakerState, Permit};
use super::candidate::{Candidacy, EngineCandidate};
use super::gauges::{Gauges, LoadReport, ReportedLoad};

/// State of one engine, for metrics and readiness.
// Each flag is a gauge of its own in the metrics.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug)]
pub struct EngineStatus {
    /// Name of the engine, a URL.
    pub name: Arc<str>,
    /// This router's requests on the engine.
    pub in_flight: u32,
    /// Requests of other hosts on the engine, as last reported.
    pub others: u32,
    /// Number of requests that the engine runs without queueing, as learned so far; none of a
    /// gateway.
    pub slots: Option<u32>,
    /// Whether the engine passes its health checks.
    pub up: bool,
    /// State of the engine's circuit breaker.
    pub breaker: BreakerState,
    /// Whether the engine's KV cache is full.
    pub full: bool,
    /// Whether the engine was removed from the list and still has requests.
    pub draining: bool,
    /// Whether the engine may be selected: it is listed and up, and its breaker lets a request
    /// pass.
    pub available: bool,
}

/// What is behind an engine's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// One engine, with the number of requests that it runs at a time, if it says so; otherwise its
    /// gauges teach it.
    One(Option<u32>),
    /// A gateway that chooses among engines of its own. What it refuses, and what breaks off, tells
    /// nothing of the next request, so its circuit breaker counts nothing, and it has no slots.
    Many,
}

pub(super) struct Engine<T> {
    /// Number from 1, never used again for another engine of this router.
    pub(super) id: u32,
    pub(super) name: Arc<str>,
    pub(super) hash: u64,
    pub(super) handle: T,
    pub(super) up: bool,
    draining: bool,
    pub(super) in_flight: u32,
    /// Gauges of one engine; none of a gateway.
    gauges: Option<Gauges>,
    pub(super) breaker: Breaker,
    /// Result of the current selection.
    pub(super) candidate: EngineCandidate,
}

impl<T> Engine<T> {
    fn new(id: u32, name: Arc<str>, handle: T, slots: u32) -> Self {
        Self {
            id,
            hash: fnv1a(&name),
            name,
            handle,
            up: false,
            draining: false,
            in_flight: 0,
            gauges: Some(Gauges::new(slots)),
            breaker: Breaker::new(),
            candidate: EngineCandidate { candidacy: Candidacy::None, load: 0 },
        }
    }

    pub(super) fn is_listed(&self) -> bool {
        !self.draining
    }

    pub(super) fn is_available(&self, now: Instant) -> bool {
        self.up && !self.draining && self.breaker.permits(now)
    }

    /// The last report of its gauges, unless it is too old.
    pub(super) fn report(&self, lifetime: Duration, now: Instant) -> Option<&LoadReport> {
        self.gauges.as_ref()?.fresh(lifetime, now)
    }

    /// Number of requests that it runs without queueing; no bound of a gateway is known.
    pub(super) fn slots(&self) -> u32 {
        self.gauges.as_ref().map_or(u32::MAX, Gauges::slots)
    }

    /// Counts a failure, which a gateway's is not: another of its engines takes the next request.
    pub(super) fn failed(&mut self, permit: Permit, options: &BreakerOptions, now: Instant) {
        if self.gauges.is_some() {
            self.breaker.failed(permit, options, now);
        }
    }

    fn set_behind(&mut self, behind: Behind, slots: u32) {
        match behind {
            Behind::One(told) => self.gauges.get_or_insert_with(|| Gauges::new(slots)).set_slots(told),
            Behind::Many => {
                self.gauges = None;
                self.breaker = Breaker::new();
            }
        }
    }

    fn status(&self, options: &RoutingOptions, now: Instant) -> EngineStatus {
        let report = self.report(options.report_lifetime, now);
        EngineStatus {
            name: Arc::clone(&self.name),
            in_flight: self.in_flight,
            others: report.map_or(0, LoadReport::others),
            slots: self.gauges.as_ref().map(Gauges::slots),
            up: self.up,
            breaker: self.breaker.state(now),
            full: report.is_some_and(|report| report.is_full(options.kv_full)),
            draining: self.draining,
            available: self.is_available(now),
        }
    }
}

/// Engines in the order of their listing, draining ones included.
pub(super) struct Engines<T> {
    pub(super) list: Vec<Engine<T>>,
    last_id: u32,
}

impl<T> Engines<T> {
    pub(super) fn new() -> Self {
        Self { list: Vec::new(), last_id: 0 }
    }

    /// Replaces the list of engines. Returns the handles that are no longer needed, to be dropped
    /// outside the lock.
    pub(super) fn set(&mut self, listed: Vec<(Arc<str>, T)>, slots: u32) -> Vec<T> {
        let mut unused = Vec::new();
        for engine in &mut self.list {
            engine.draining = true;
        }
        for (name, handle) in listed {
            if let Some(engine) = self.list.iter_mut().find(|engine| engine.name == name) {
                engine.draining = false;
                unused.push(std::mem::replace(&mut engine.handle, handle));
            } else {
                self.last_id += 1;
                self.list.push(Engine::new(self.last_id, name, handle, slots));
            }
        }
        unused.extend(
            self.list
                .extract_if(.., |engine| engine.draining && engine.in_flight == 0)
                .map(|engine| engine.handle),
        );
        unused
    }

    pub(super) fn report(&mut self, name: &str, load: ReportedLoad, now: Instant) {
        if let Some(engine) = self.named(name) {
            let in_flight = engine.in_flight;
            if let Some(gauges) = &mut engine.gauges {
                gauges.report(load, in_flight, now);
            }
        }
    }

    pub(super) fn set_behind(&mut self, name: &str, behind: Behind, slots: u32) {
        if let Some(engine) = self.named(name) {
            engine.set_behind(behind, slots);
        }
    }

    pub(super) fn set_up(&mut self, name: &str, up: bool) {
        if let Some(engine) = self.named(name) {
            engine.up = up;
        }
    }

    /// Ends a request of engine `id`. Returns the engine if it was draining and this was its last
    /// request.
    pub(super) fn release(&mut self, id: u32, permit: Permit) -> Option<Engine<T>> {
        let at = self.list.iter().position(|engine| engine.id == id)?;
        let engine = &mut self.list[at];
        engine.in_flight -= 1;
        engine.breaker.abandoned(permit);
        (engine.draining && engine.in_flight == 0).then(|| self.list.remove(at))
    }

    pub(super) fn by_id(&mut self, id: u32) -> Option<&mut Engine<T>> {
        self.list.iter_mut().find(|engine| engine.id == id)
    }

    pub(super) fn is_up(&self, id: Option<u32>) -> bool {
        self.list.iter().any(|engine| Some(engine.id) == id && engine.up && !engine.draining)
    }

    pub(super) fn status(&self, options: &RoutingOptions, now: Instant) -> Vec<EngineStatus> {
        self.list.iter().map(|engine| engine.status(options, now)).collect()
    }

    fn named(&mut self, name: &str) -> Option<&mut Engine<T>> {
        self.list.iter_mut().find(|engine| *engine.name == *name)
    }
}
