//! A served model: prompt room, parser and engine joined, so that a protocol hands in a job and takes out a turn.
//!
//! Knows no protocol and no HTTP. Made once at start (`Model::load`); `Model::start` once per answer.

mod config;
mod error;
mod generate;
mod job;
mod load;
mod locate;
mod served;
mod source;
mod text;

pub use error::StartError;
pub use generate::{Ended, TurnStream};
pub use job::{Job, SamplingRequest};
pub use load::{LoadError, ModelOptions};
pub use served::Model;
pub use source::EngineChoice;
