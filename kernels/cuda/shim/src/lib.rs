//! A device for tests, on the CPU: it compiles kernels as C++ and runs launches thread by thread.
//!
//! Invariant: what a device leaves undefined is an error here that names kernel, block and thread:
//! threads that don't meet at a barrier, accesses outside of buffers, vectors at misaligned
//! addresses. Memory that was never written is NaN. Results don't depend on the machine's speed or
//! number of cores. Used by tests only. Threads may share a [`Shim`]; its launches run one at a
//! time.

mod block;
mod compile;
mod context;
mod copies;
mod error;
mod fault;
mod fiber;
mod hooks;
mod launch;
mod memory;
mod program;
mod shim;
mod warp;

pub use compile::{Kernel, Module};
pub use error::ShimError;
pub use launch::KernelLaunch;
pub use program::Program;
pub use shim::{Shim, ThreadOrder};
