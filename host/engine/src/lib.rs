//! Token ids in, token ids out: scheduler, paged KV cache, sampling, models.
//!
//! Invariants: no HTTP, no text, no JSON of clients, no Wasm; every queue is bounded; a sequence's tokens depend on nothing but
//! its own request (not on the batch it ran in, nor on preemption).

pub mod batch;
mod files;
mod generation;

pub use files::{FileBytes, FileError, ModelFiles};
pub use generation::{
    Engine, EngineInfo, Finish, Generation, GenerationRequest, Logprobs, SamplingParams, Step, SubmitError, Token,
    TokenMask,
};
