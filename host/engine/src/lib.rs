//! Token ids in, token ids out: scheduler, paged KV cache, sampling, models.
//!
//! Invariants: no HTTP, no text, no JSON of clients, no Wasm; every queue is bounded; a sequence's
//! tokens depend on nothing but its own request (not on the batch it ran in, nor on preemption).
#![doc = include_str!("../DESIGN.md")]
#![warn(clippy::print_stderr)]

pub mod batch;
mod blocks;
mod constraint;
pub mod cpu;
pub mod cuda;
mod device;
mod device_lock;
mod engine_step;
mod error;
mod file_bytes;
mod files;
mod generation;
mod gguf_files;
mod gguf_head;
mod inbox;
mod info;
mod lanes;
mod local;
mod local_runner;
mod logits;
mod mask_patience;
pub mod models;
mod notify;
mod options;
mod outlet;
mod panics;
mod parallel;
mod play;
mod play_check;
mod prompt_scores;
pub mod runner;
mod scheduler;
mod sequence;
mod shape;
mod speculation;
mod sync;
#[cfg(test)]
mod tests;
mod token;
mod waiting_room;

pub use constraint::{Constraint, JsonBegins, JsonConstraint};
pub use device::DeviceChoice;
pub use device_lock::DeviceLock;
pub use error::{GenerationError, MaskError, PlayedMismatch, SubmitError};
pub use file_bytes::{FileBytes, FileError};
pub use files::ModelFiles;
pub use generation::{
    Engine, Finish, Generation, GenerationRequest, RouteKey, StepOutput, StepStream, TokenMask,
};
pub use gguf_files::{GgufFiles, split_gguf_name};
pub use gguf_head::GgufHead;
pub use info::{ConstraintSupport, EngineInfo, EngineStats};
pub use local::LocalEngine;
pub use local_runner::LocalRunner;
pub use logits::LogitsProcessors;
pub use options::LocalOptions;
pub use play::{PlayedEnd, PlayedOutput};
pub use speculation::SpeculationOptions;
pub use token::{Logprobs, SamplingParams, Token};
pub use waiting_room::{Place, WaitingRoom};
