//! NVIDIA GPUs: models run with the kernels of `cuda-kernels`, compiled for the device at first start.
//!
//! Invariants: without a driver nothing of CUDA is loaded or called, and everything else works as if this module weren't there; what is
//! missing is an error of one line, never a panic. Called by `host devices`, and by whoever starts an engine.

mod compile;
mod driver;
mod error;
mod libraries;
mod real;
mod survey;
#[cfg(test)]
mod tests;
mod version;

pub use compile::KernelCache;
pub use error::CudaError;
pub use libraries::load_libraries;
pub use survey::{DeviceInfo, Survey};
pub use version::CudaVersion;
