//! Bounds that an operator can change: a line of each ([`limits!`]) has its field, default value,
//! switch, unit, range and description. The lines stand beside the code that keeps the bound; the
//! command line makes its switches from them, and `docs/limits.md` has them as tables.
//!
//! A bound without a switch can't be changed: a protocol defines it, or authors of parsers rely on it.
#![doc = include_str!("../DESIGN.md")]

mod bound;

pub use bound::{Amount, Bound, Bounded, Unit, bound};
