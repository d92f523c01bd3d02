//! Protocols: requests to jobs, turns to events. Each protocol is a folder; they share errors,
//! events, the machine's shape, and how request bodies are read. No HTTP in here: the transport
//! hands in bytes and takes out bytes.
#![doc = include_str!("../DESIGN.md")]

mod absent;
pub mod agent;
pub mod case_stream;
pub mod catalog;
pub mod chat;
mod chunk_check;
pub mod completions;
mod content;
pub mod conversations;
pub mod deleted;
pub mod error;
pub mod event_buffer;
pub mod event_names;
mod fields;
mod format;
pub mod frames;
mod history;
pub mod ids;
mod json;
pub mod limits;
pub mod list;
pub mod machine;
pub mod messages;
mod metadata;
pub mod models;
mod obfuscation;
pub mod openapi;
mod options;
mod overflow;
mod protocol;
pub mod query;
mod raw;
pub mod recorded;
pub mod request;
pub mod responses;
mod schema;
pub mod seal;
pub mod sse;
pub mod stream_check;
mod stream_rule;
mod structured_outputs;
mod token_ids;
pub mod tokenize;
mod tools;
mod warnings;

pub use json::{Document, JsonObject};
pub use protocol::Protocol;
pub use request::{ApiRequest, Defaults, ReasoningEvents};
pub use request::{References, read_body, references};
pub use stream_check::StreamCheck;

#[cfg(test)]
mod tests;
