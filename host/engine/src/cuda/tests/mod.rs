//! Tests of the GPU engine that need no GPU; those on `rig::device` run on a GPU where
//! `ENGINE_TESTS_DEVICE` names one.

mod beside_cpu;
mod compile;
mod deterministic;
mod drawn;
mod fake;
mod families;
mod fp8;
mod goldens;
mod kernels;
mod launches;
mod loads;
mod nvrtc;
mod on_simulator;
mod products;
mod published;
mod rig;
mod sampling;
mod shim;
mod simulation;
mod speed;
mod steps;
mod survey;
