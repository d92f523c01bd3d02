//! Tests of the GPU's side that need no GPU.

mod compile;
mod drawn;
mod fake;
mod families;
mod goldens;
mod loads;
mod nvrtc;
mod published;
mod rig;
mod sampling;
mod shim;
mod simulation;
mod steps;
mod survey;
