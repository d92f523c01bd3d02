//! Tests of the GPU's side that need no GPU.

mod beside_cpu;
mod compile;
mod deterministic;
mod fake;
mod goldens;
mod kernels;
mod nvrtc;
mod rig;
mod sampling;
mod shim;
mod simulation;
mod speed;
mod steps;
mod survey;
