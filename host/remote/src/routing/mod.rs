//! Routing: selects one of several remote engines for a request, by prefix affinity with bounded
//! load.
//!
//! A request comes with the key of its prefix. Requests of one key go to the key's last engine,
//! which has the prefix in its cache. A key that isn't remembered goes by rendezvous hashing
//! (highest random weight), so that several hosts with the same engines agree and share nothing.
//! Engines whose load is at the bound are passed over; if all are, the one with the least load is
//! taken. Load is the router's own requests and, where an engine reports its gauges, those of
//! others.
//!
//! The bound is `max(load_percent × mean, min(slots, max(options.slots, slots_percent × mean)))`,
//! rounded up, over the engines that may take the request. An engine's slots are learned: the
//! number of requests that it runs while others wait (`gauges.rs`).
//!
//! If this host routes alone, as the gauges tell, no other host has to find a key by rendezvous
//! order. Then a new key is placed below `new_key_percent × mean`, and a key that was spilled stays
//! where it went. Otherwise a spill is not remembered. `benches/routing` of the package `tests`
//! measures these rules.
//!
//! Invariants: a request counts as load from its selection until its [`EngineLease`] is dropped,
//! whatever happens to the list of engines meanwhile. The router reads no clock, does no I/O and
//! waits for nothing but one short lock: `now` is a parameter.

mod bound;
mod breaker;
mod candidate;
mod candidates;
mod engines;
mod gauges;
mod last_engines;
mod router;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use breaker::{BreakerOptions, BreakerState};
pub use candidates::NoEngine;
pub use engines::{Behind, EngineStatus};
pub use gauges::ReportedLoad;
pub use router::{Affinity, EngineLease, Router};

/// Parameters of a [`Router`].
#[derive(Clone, Debug)]
pub struct RoutingOptions {
    /// Slots of an engine before its gauges teach its own number, at least 1. An engine may have so
    /// many requests whatever the mean is.
    pub slots: u32,
    /// Load factor: the bound on an engine's load, in percent of the mean; above 100.
    pub load_percent: u32,
    /// Highest bound that learned slots may give an engine, in percent of the mean; `slots` counts
    /// if it is higher.
    pub slots_percent: u32,
    /// Load factor for keys that aren't remembered, if no other host routes and so none has to find
    /// their engines.
    pub new_key_percent: u32,
    /// Used share of the KV cache above which an engine is full: taken only if all are.
    pub kv_full: f32,
    /// Number of keys whose last engine is remembered, 12 bytes each, rounded up to a power of two;
    /// 0: none.
    pub remembered_keys: usize,
    /// Time after which an engine's report is ignored.
    pub report_lifetime: Duration,
    /// Parameters of each engine's circuit breaker.
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
