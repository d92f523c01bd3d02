//! Operations of the engine on flat batches of tokens. There is one file per operation: its comment
//! says what it fuses and in which precision it accumulates, and most have a plain reference beside
//! the version in use.
//!
//! Invariant: a row's result does not depend on the rows beside it, nor on the number of threads.
//! Called by the engine's backends only; knows no model, no file and no scheduler.
#![doc = include_str!("../DESIGN.md")]
#![warn(clippy::print_stderr)]

pub mod cpu;
pub mod ggml;
