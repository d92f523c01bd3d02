//! A served model: prompt room, parser and engine joined, so that a protocol hands in a job and takes out a turn.

mod job;

pub use job::{Job, SamplingRequest};
