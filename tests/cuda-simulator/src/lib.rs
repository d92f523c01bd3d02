//! CUDA on the CPU, for tests: a library with the C functions of CUDA's driver, of NVRTC and of
//! cuBLASLt that the engine calls. The engine loads it as it loads CUDA's libraries, so the code
//! that calls CUDA runs without a GPU, up to the last pointer.
//!
//! Invariants: it is as strict as the documentation of the functions, and stricter where that
//! allows anything. What may happen later happens as late as possible: copies, fills, launches,
//! graphs and products are done when someone waits for them, so memory that is written or read too
//! early shows. A function that the engine doesn't call isn't there. Whoever calls one has to add
//! it, since cudarc panics where a function is missing. Each wrong call prints a line to stderr
//! that begins with `simulated CUDA:`, as does whatever was not freed when a context ends.
//!
//! There is one device, with one context. Kernels are text all the way: NVRTC's binary is the text
//! with its options, and loading it compiles it as C++ (`cuda-shim`). [`install`] makes folders
//! with the libraries' names.
//!
//! The variable `SIMULATED_CUDA` describes another machine, and failures on demand ([`settings`]).

mod call;
mod context;
mod cublaslt;
mod driver;
mod handles;
mod install;
mod nvrtc;
mod outcome;
pub mod settings;
mod work;

#[cfg(test)]
mod signatures;
#[cfg(test)]
mod tests;

pub use install::{InstallError, install};
