//! Protocols: requests to jobs, turns to events. Each protocol is a folder; they share errors, frames, the machine's shape,
//! and how request bodies are read. No HTTP in here: the transport hands in bytes and takes out bytes.

pub mod chat;
mod content;
pub mod error;
pub mod frames;
mod history;
pub mod ids;
mod json;
pub mod machine;
pub mod models;
mod options;
mod protocol;
pub mod request;
pub mod responses;
pub mod sse;
mod tools;
mod warnings;

pub use protocol::{Protocol, StreamCheck};
pub use request::{Call, Defaults, ReasoningEvents};

#[cfg(test)]
mod tests;
