//! Protocols: requests to jobs, turns to events. Each protocol is a folder; they share errors, events, the machine's shape,
//! and how request bodies are read. No HTTP in here: the transport hands in bytes and takes out bytes.

mod absent;
pub mod case_stream;
pub mod chat;
pub mod completions;
mod content;
pub(crate) mod conversations;
pub(crate) mod deleted;
pub mod error;
pub mod event_buffer;
mod fields;
mod format;
pub mod frames;
mod history;
pub mod ids;
mod json;
pub(crate) mod list;
pub mod machine;
pub mod messages;
mod metadata;
pub mod models;
mod obfuscation;
pub mod openapi;
mod options;
mod protocol;
pub(crate) mod query;
mod raw;
pub mod request;
pub mod responses;
mod schema;
pub mod seal;
pub mod sse;
pub mod stream_check;
mod structured_outputs;
mod token_ids;
pub mod tokenize;
mod tools;
mod warnings;

pub(crate) use json::{Document, Object};
pub use protocol::Protocol;
pub use request::{ApiRequest, Defaults, ReasoningEvents};
pub(crate) use request::{References, read_body, references};
pub use stream_check::StreamCheck;

#[cfg(test)]
mod tests;
