//! A simulation of many engines behind the server's own router, and behind others' policies: hit rate, spread, moves.
//!
//! `benches/routing` runs the large one, `tests/routing.rs` a small one.

mod cache;
mod engine;
mod figures;
mod policies;
mod random;
mod scenario;
mod simulation;
mod workload;

pub use figures::Figures;
pub use policies::{Counted, Placement, Policy, Routed, Rule};
pub use scenario::{Keys, Scenario};
pub use simulation::simulate;
pub use workload::{Conversation, conversations};

use host::remote::routing::RoutingOptions;

/// A policy's name, and how each host makes its own.
pub type Named = (&'static str, fn() -> Box<dyn Policy>);

/// Sluice's router as it is.
pub const OURS: Named = ("Sluice", || Box::new(Routed::new(RoutingOptions::default(), true)));
/// The best that knows all caches.
pub const BOUNDED_TREE: Named =
    ("radix tree, bounded load", || Box::new(Counted::new(Rule::BoundedTree { slots: 12 })));

/// The policies that are compared.
pub const POLICIES: [Named; 7] = [
    OURS,
    ("round-robin", || Box::new(Counted::new(Rule::RoundRobin))),
    ("least load", || Box::new(Counted::new(Rule::LeastLoad))),
    ("consistent hash", || Box::new(Routed::new(hash_alone(), false))),
    ("bounded hash, no memory", || Box::new(Routed::new(bounded_hash(), false))),
    ("radix tree, thresholds", || Box::new(Counted::new(Rule::Tree { absolute: 64 }))),
    BOUNDED_TREE,
];

/// A key's engine takes all of its requests.
fn hash_alone() -> RoutingOptions {
    let slots = u32::MAX;
    RoutingOptions { slots, remembered_keys: 0, kv_full: 1.0, ..RoutingOptions::default() }
}

/// Rendezvous hashing with bounded load, 8 slots.
fn bounded_hash() -> RoutingOptions {
    RoutingOptions { remembered_keys: 0, kv_full: 1.0, ..RoutingOptions::default() }
}
