//! Anthropic's Messages: `request` reads bodies, with `input`, `blocks` and `tools`; `machine`
//! writes answers as `events` or in one piece; `error` has the protocol's error object; `validator`
//! checks streams.

mod blocks;
mod context_edits;
mod error;
mod events;
pub(super) mod fields;
mod hosted;
mod input;
mod input_check;
mod known_tools;
mod machine;
pub(super) mod models;
mod request;
mod search;
pub mod thread;
mod tools;
pub mod validator;

pub use error::error_body;
pub(super) use error::error_schema;
pub use events::counted;
pub(super) use events::{Counted, answer};
pub use machine::MessagesMachine;
pub use models::{ModelInfo, ModelPage};
pub use request::MessagesRequest;
pub use request::{count, read};
pub(super) use search::WEB_RESULT;

/// Purpose of signatures of thinking ([`super::seal::Seal::sign`]).
pub(super) const THINKING: &str = "messages.thinking";
