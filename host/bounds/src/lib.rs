//! Bounds that an operator can change: a row of each has its switch, unit, range, description and
//! field. The rows stand beside the code that keeps the bound; the command line makes its switches
//! from them, and `docs/limits.md` has them as tables.
//!
//! A bound without a row can't be changed: a protocol defines it, or authors of parsers rely on it.
#![doc = include_str!("../DESIGN.md")]

mod bound;

pub use bound::{Bound, Bounded, Field, Unit, bound};
