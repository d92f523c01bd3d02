//! A device for tests, on the CPU: compiles kernels as C++ and runs launches thread by thread.
//!
//! Invariant: what a device leaves undefined is an error here, with the kernel, the block and the thread: threads that don't meet at
//! a barrier, accesses outside of buffers, vectors at misaligned addresses. What was never written is NaN. Results don't depend on
//! the machine's speed or number of cores. Used by tests only; a [`Shim`] may be shared by threads, which take turns.

mod block;
mod compile;
mod copies;
mod error;
mod fault;
mod fiber;
mod hooks;
mod memory;
mod shim;
mod warp;

pub use error::ShimError;
pub use shim::{Order, Shim};
