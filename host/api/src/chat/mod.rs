//! Chat Completions: `request` reads bodies, `machine` writes answers as `chunks` or in one piece,
//! with a `choice` machine for each choice; `validator` checks streams.

mod choice;
mod chunks;
pub(super) mod fields;
mod legacy;
mod logprobs;
mod machine;
mod messages;
mod request;
pub mod stored;
mod stream;
mod tools;
pub mod validator;

pub(super) use chunks::{ChatUsage, Chunk, Completion};
pub use machine::ChatMachine;
pub use request::ChatRequest;
pub(super) use request::job;
pub(crate) use request::read;
