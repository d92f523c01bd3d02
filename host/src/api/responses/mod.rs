//! The Responses protocol: `request` and `input` read bodies; `machine` writes answers as `events`, `items` and the response object
//! (`resource`); `validator` checks streams of this protocol from any server.
//!
//! Two layers: `machine` knows turns and hands plain values to the leaves (`open_item`, `events`, `items`, `resource`), which know
//! nothing of turns.

mod compaction;
mod configuration;
mod echo;
mod events;
pub(super) mod fields;
mod hosted;
mod input;
mod input_items;
mod items;
mod machine;
mod names;
mod open_item;
mod request;
mod resource;
pub(super) mod schema;
mod tools;
pub mod validator;

pub(crate) use compaction::{CompactedResponse, compact};
pub use machine::ResponsesMachine;
pub use request::ResponsesRequest;
pub(crate) use request::{count, read};
pub(crate) use resource::{CountedInput, counted};
