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

use schemars::SchemaGenerator;
use serde_json::json;

use super::error;
use super::schema::AnswerSchemas;

pub(super) use chunks::ChatUsage;
pub use machine::ChatMachine;
pub use request::ChatRequest;
pub(super) use request::job;
pub(crate) use request::read;

/// Schemas of the answer, and of what the lines of a stream hold: a chunk, the error object, or
/// `[DONE]`.
pub(super) fn answer(generator: &mut SchemaGenerator) -> AnswerSchemas {
    let chunk = generator.subschema_for::<chunks::Chunk<'_>>().to_value();
    let events = json!({ "anyOf": [chunk, error::body_schema(generator), { "const": "[DONE]" }] });
    AnswerSchemas { events: Some(events), ..AnswerSchemas::whole::<chunks::Completion<'_>>(generator) }
}
