//! The binary `host` on a GPU that `cuda-simulator` simulates: the code that calls CUDA runs to its
//! end, and every failure is one line.

mod lost;
mod machine;
mod refused;
mod serve;
