//! Components in the sandbox, tested at the boundary of the parser room, and the properties of the
//! shipped ones.

#[path = "../../../tests/src/guests.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the package `tests`")]
mod guests;

mod conformance;
mod contracts;
mod damaged_components;
mod kept;
mod large_deltas;
mod room;
