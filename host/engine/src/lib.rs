//! Token ids in, token ids out: scheduler, paged KV cache, sampling, models.
//!
//! Invariants: no HTTP, no text, no JSON of clients, no Wasm; every queue is bounded; a sequence's tokens depend on nothing but
//! its own request (not on the batch it ran in, nor on preemption).

mod adjust;
pub mod batch;
mod blocks;
pub mod cpu;
mod files;
mod generation;
mod inbox;
mod local;
pub mod models;
mod outlet;
mod play;
mod sampler;
mod scheduler;
mod sequence;
#[cfg(test)]
mod tests;

pub use adjust::Adjustments;
pub use files::{FileBytes, FileError, ModelFiles};
pub use generation::{
    Engine, EngineInfo, EngineStats, Finish, Generation, GenerationRequest, Logprobs, SamplingParams, Step,
    StepStream, SubmitError, Token, TokenMask,
};
pub use local::{LocalEngine, LocalOptions};
pub use play::{PlayedEnd, PlayedOutput};
