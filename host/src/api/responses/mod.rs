//! The Responses protocol: `request` and `input` read bodies; `machine` writes answers as `events`, `items` and the response object
//! (`resource`); `validator` checks streams of this protocol from any server.
//!
//! Two layers: `machine` knows turns and hands plain values to the leaves (`open_item`, `events`, `items`, `resource`), which know
//! nothing of turns.

mod compaction;
mod configuration;
mod continuation;
mod echo;
mod ending;
mod events;
pub(crate) mod fields;
pub mod fold;
mod hosted;
mod input;
mod input_items;
mod items;
mod machine;
mod names;
mod open_item;
pub(crate) mod own_items;
mod request;
mod resource;
pub(super) mod schema;
pub(crate) mod steer;
pub(crate) mod stored;
mod tools;
pub mod validator;
pub(crate) mod web_socket;

pub(crate) use compaction::{CompactedResponse, compact};
pub(crate) use continuation::{Continuation, Queued, Wishes};
pub(crate) use ending::Ending;
pub(in crate::api) use input::check_item;
pub(crate) use input_items::WholeInput;
pub use machine::ResponsesMachine;
pub(crate) use own_items::OwnItem;
pub use request::ResponsesRequest;
pub(crate) use request::{count, read, read_continuing};
pub(crate) use resource::{CountedInput, counted};
