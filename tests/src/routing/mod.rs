//! Simulation of many engines behind the server's own router, and behind other policies: hit rate,
//! spread of load, moves.
//!
//! `benches/routing` runs the large scenario, `tests/routing.rs` the small one.

mod cache;
mod engine;
mod figures;
mod policies;
mod random;
mod scenario;
mod simulation;
mod workload;

pub use figures::Figures;
pub use scenario::{Keys, Scenario};
pub use simulation::simulate;
pub use workload::{Conversation, conversations};

use remote::routing::RoutingOptions;

use policies::{CountingPolicy, Policy, RouterPolicy, Rule};

/// Policy that can be simulated.
#[derive(Clone, Copy)]
pub struct NamedPolicy {
    /// Name for tables.
    pub name: &'static str,
    /// Makes the policy of one host.
    make: fn() -> Box<dyn Policy>,
}

impl NamedPolicy {
    const fn new(name: &'static str, make: fn() -> Box<dyn Policy>) -> Self {
        Self { name, make }
    }
}

/// Sluice's router with its default options.
pub const OURS: NamedPolicy =
    NamedPolicy::new("Sluice", || Box::new(RouterPolicy::new(RoutingOptions::default(), true)));
/// The best of the compared policies that know the caches of all engines exactly.
pub const BOUNDED_TREE: NamedPolicy = NamedPolicy::new("radix tree, bounded load", || {
    Box::new(CountingPolicy::new(Rule::BoundedTree { slots: 12 }))
});

/// Policies that are compared.
pub const POLICIES: [NamedPolicy; 7] = [
    OURS,
    NamedPolicy::new("round-robin", || Box::new(CountingPolicy::new(Rule::RoundRobin))),
    NamedPolicy::new("least load", || Box::new(CountingPolicy::new(Rule::LeastLoad))),
    NamedPolicy::new("consistent hash", || Box::new(RouterPolicy::new(hash_alone(), false))),
    NamedPolicy::new("bounded hash, no memory", || Box::new(RouterPolicy::new(bounded_hash(), false))),
    NamedPolicy::new("radix tree, thresholds", || Box::new(CountingPolicy::new(Rule::Tree { absolute: 64 }))),
    BOUNDED_TREE,
];

/// Options for consistent hashing alone: all requests of a key go to one engine.
fn hash_alone() -> RoutingOptions {
    let slots = u32::MAX;
    RoutingOptions { slots, remembered_keys: 0, kv_full: 1.0, ..RoutingOptions::default() }
}

/// Options for rendezvous hashing with bounded load and 8 slots.
fn bounded_hash() -> RoutingOptions {
    RoutingOptions { remembered_keys: 0, kv_full: 1.0, ..RoutingOptions::default() }
}
