//! The Responses protocol: `request` and `input` read bodies; `machine` writes answers as `events`,
//! `items` and the response object (`resource`); `validator` checks streams of this protocol from
//! any server.
//!
//! Two layers: `machine` knows turns and hands plain values to the leaves (`open_item`, `events`,
//! `items`, `resource`), which know nothing of turns.

mod compaction;
mod configuration;
mod continuation;
mod echo;
pub mod end_reasoning;
mod ending;
mod events;
pub(crate) mod fields;
pub mod fold;
mod hosted;
mod input;
mod input_items;
mod items;
mod lane;
mod machine;
mod names;
mod open_item;
pub mod own_items;
mod request;
mod resource;
pub(super) mod schema;
mod status;
pub mod steer;
pub mod stored;
mod tools;
mod typed;
pub mod validator;
pub mod web_socket;

pub(crate) use compaction::SUMMARY;
pub use compaction::{CompactedResponse, compact};
pub use continuation::{Continuation, Queued, Wishes};
pub use ending::{Ending, FoldedLog};
pub(crate) use input::{REASONING, check_item};
pub use input_items::WholeInput;
pub use machine::ResponsesMachine;
pub use own_items::OwnItem;
pub use request::ResponsesRequest;
pub use request::{count, read, read_continuing};
pub(crate) use resource::Resource;
pub use resource::{CountedInput, counted};
