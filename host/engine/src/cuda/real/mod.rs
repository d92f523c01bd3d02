//! CUDA's driver and compiler, through cudarc's raw calls: the only place of the engine that calls
//! them.
//!
//! Invariant: no function of a library is called before the library is known to be there and new
//! enough, since cudarc panics where it can't load a function.
#![expect(unsafe_code, reason = "calls of C libraries")]

mod calls;
mod context;
mod cublaslt;
mod driver;
mod library;
mod machine;
mod modules;
mod nvrtc;
mod pinned;

pub(super) use driver::Gpu;
pub(super) use machine::Machine;
#[cfg(test)]
pub(super) use nvrtc::Nvrtc;
