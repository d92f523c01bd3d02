//! Which of several remote engines serves a request: prefix affinity with bounded load.
//!
//! A request comes with the key of its prefix. Requests of one key go to the engine that the key used last, which has the
//! prefix in its cache; a key that isn't remembered goes by rendezvous hashing (highest random weight), so that several
//! hosts with the same engines agree and share nothing. Engines whose load is at the bound are passed over; if all are, the
//! one with the least load is taken. Load is the router's own requests and, where an engine reports its gauges, those of others.
//!
//! The bound is `max(load_percent × mean, min(slots, max(options.slots, slots_percent × mean)))`, rounded up, over the engines
//! that may take the request. An engine's slots are learned: what it runs while requests wait (`gauges.rs`).
//!
//! Where this host routes alone, which the gauges tell, no other host has to find a key by rendezvous order. Then a new key
//! is placed below `new_key_percent × mean`, and a key that was spilled stays where it went. Otherwise a spill is not remembered.
//! `benches/routing` of the package `tests` measures these rules.
//!
//! Invariants: a request counts as load from its selection until its [`Lease`] is dropped, whatever happens to the list of
//! engines meanwhile. Nothing here reads a clock, does I/O or waits for anything but one short lock: `now` is handed in.

mod bound;
mod breaker;
mod candidates;
mod engines;
mod gauges;
mod hash;
mod homes;
mod router;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use breaker::{BreakerOptions, BreakerState};
pub use candidates::NoEngine;
pub use engines::EngineStatus;
pub use gauges::ReportedLoad;
pub use router::{Affinity, Lease, Router};

/// Parameters of a [`Router`].
#[derive(Clone, Debug)]
pub struct RoutingOptions {
    /// Requests that an engine takes whatever the others have, until its gauges tell more; at least 1.
    pub slots: u32,
    /// Load factor: how far above the mean an engine's load may be, in percent of the mean; above 100.
    pub load_percent: u32,
    /// How far its learned slots let an engine's load be above the mean, in percent of the mean, if that is more than `slots`.
    pub slots_percent: u32,
    /// Load factor for keys that aren't remembered, where no other hosts route: nobody else must find their engines.
    pub new_key_percent: u32,
    /// Share of the KV cache beyond which an engine is full: taken only if all are.
    pub kv_full: f32,
    /// Keys whose last engine is remembered, 12 bytes each, rounded up to a power of two; 0: none.
    pub remembered_keys: usize,
    /// How long an engine's report counts.
    pub report_lifetime: Duration,
    /// Breaker of each engine.
    pub breaker: BreakerOptions,
}

impl Default for RoutingOptions {
    fn default() -> Self {
        Self {
            slots: 8,
            load_percent: 125,
            slots_percent: 175,
            new_key_percent: 110,
            kv_full: 0.9,
            remembered_keys: 1_000_000,
            report_lifetime: Duration::from_secs(10),
            breaker: BreakerOptions::default(),
        }
    }
}
