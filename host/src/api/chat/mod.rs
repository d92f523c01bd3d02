//! Chat Completions: `request` reads, `machine` answers in `chunks` or in one piece; `validator` checks streams.

mod chunks;
mod machine;
mod messages;
mod request;
pub mod validator;

pub use machine::ChatMachine;
pub use request::{ChatRequest, call, parse};
