//! Tests of the GPU's side that need no GPU.

mod beside_cpu;
mod compile;
mod deterministic;
mod drawn;
mod fake;
mod families;
mod goldens;
mod kernels;
mod launches;
mod loads;
mod nvrtc;
mod published;
mod rig;
mod sampling;
mod shim;
mod simulation;
mod speed;
mod steps;
mod survey;
