//! Completions, the oldest protocol: raw prompts, answered with text, without template or parser.
//! `request` reads bodies, `machine` writes answers as chunks or in one piece, `validator` checks
//! streams.

pub(super) mod fields;
mod logprobs;
mod machine;
mod objects;
mod request;
pub mod validator;

use schemars::SchemaGenerator;
use serde_json::json;

use super::error;
use super::schema::AnswerSchemas;

pub use machine::CompletionMachine;
pub(super) use request::prompts;
pub(crate) use request::read;

/// Schemas of the answer, and of what the lines of a stream hold: a chunk, the error object, or
/// `[DONE]`.
pub(super) fn answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let chunk = generator.subschema_for::<objects::Completion<'_>>().to_value();
    let events = json!({ "anyOf": [chunk, error::body_schema(generator), { "const": "[DONE]" }] });
    AnswerSchemas { events: Some(events), ..AnswerSchemas::whole::<objects::Completion<'_>>(generator) }
}
