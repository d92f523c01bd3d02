//! Protocols: requests to jobs, turns to events. Each protocol is a folder; they share errors, frames and the machine's shape.

pub mod error;
pub mod frames;
pub mod machine;
