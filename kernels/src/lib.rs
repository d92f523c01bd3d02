//! The engine's operations on flat batches of tokens. One file per operation: what it fuses and in which precision it
//! accumulates, a plain version that says what it means, and the version in use.
//!
//! Invariant: a row's result does not depend on the rows beside it, nor on the number of threads. Called by the engine's
//! backends only; knows no model, no file and no scheduler.

pub mod cpu;
