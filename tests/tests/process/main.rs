//! The binary `host` as a process: what operators see of it, and what it does on a GPU.

mod gateway;
mod gpu;
mod metrics;
mod observed;
mod probed;
mod traces;
