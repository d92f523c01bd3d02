//! The Responses protocol: `request` and `input` read, `machine` answers with `events`, `items` and the response object
//! (`resource`); `validator` checks any stream of this protocol, ours or another's.

mod echo;
mod events;
mod input;
mod items;
mod machine;
mod request;
mod resource;
mod tools;
pub mod validator;

pub use machine::ResponsesMachine;
pub use request::{ResponsesRequest, call, parse};
