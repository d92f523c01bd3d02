//! NVIDIA GPUs: models run with the kernels of `cuda-kernels`, compiled for the device at first
//! start.
//!
//! Invariants: without a driver no CUDA library is loaded or called, and everything else works as
//! if this module weren't there; a missing driver, GPU or library is an error of one line, never a
//! panic. Called by `host devices`, and by whoever starts an engine on a GPU.
#![doc = include_str!("DESIGN.md")]

mod attention_work;
mod backend;
mod buckets;
mod cache;
mod choose;
mod compile;
mod content;
mod driver;
mod error;
mod fp8;
mod graphs;
mod libraries;
mod memory;
mod ops;
mod options;
mod platform;
mod real;
mod runner;
mod sampler;
mod scratch;
mod staging;
mod start;
mod step;
mod supported;
mod survey;
mod tables;
#[cfg(test)]
mod tests;
mod upload;
mod version;
mod weights;

pub use choose::choose_device;
pub use compile::KernelCache;
pub use error::CudaError;
pub use libraries::load_libraries;
pub use options::CudaOptions;
pub use platform::DeviceInfo;
pub use runner::CudaRunner;
pub use survey::Survey;
pub use version::CudaVersion;
