//! The Responses protocol: `request` and `input` read, `machine` answers with `events`, `items` and the response object
//! (`resource`); `validator` checks any stream of this protocol, ours or another's.
//!
//! Two layers: `machine` knows turns and hands plain values to the leaves (`written`, `events`, `items`, `resource`), which know none.

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

pub use machine::ResponsesMachine;
pub use request::ResponsesRequest;
pub(crate) use request::read;
