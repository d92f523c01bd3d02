//! Numbers that a seed decides, for floors of every height: a generator, its draws by position, and
//! a hash of names.
//!
//! Invariant: every sequence is the same on every machine and in every version, since recorded
//! masks, random weights, tokens that were sampled and the routes of requests follow from them.
//! Nothing here is secret or unguessable; `system` has random ids.

mod fnv;
mod split_mix;

pub use fnv::{fnv1a, fnv1a_with};
pub use split_mix::{SplitMix64, mix, uniform, unit};
