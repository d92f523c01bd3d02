//! Tests of the GPU's side that need no GPU.

mod compile;
mod fake;
mod rig;
mod shim;
mod steps;
mod survey;
