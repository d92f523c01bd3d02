//! Components in the sandbox, at the boundary of the parser room, and what the shipped ones must keep.

#[path = "../../../tests/src/guests.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the package `tests`")]
mod guests;

mod conformance;
mod damaged_components;
mod room;
mod turn_qwen3;
