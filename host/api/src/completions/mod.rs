//! Completions, the oldest protocol: raw prompts, answered with text, without template or parser.
//! `request` reads bodies, `machine` writes answers as chunks or in one piece, `validator` checks
//! streams.

pub(super) mod fields;
mod logprobs;
mod machine;
mod objects;
mod request;
pub mod validator;

pub use machine::CompletionMachine;
pub(super) use objects::Completion;
pub(super) use request::prompts;
pub(crate) use request::read;
