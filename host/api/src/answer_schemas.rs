//! JSON schemas of an endpoint's answers.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// Schemas of an endpoint's answers.
pub(crate) struct AnswerSchemas {
    /// Schema of an answer in one piece.
    pub(crate) whole: Value,
    /// Schema of the data of a stream's events, if the endpoint has streams.
    pub(crate) events: Option<Value>,
}

impl AnswerSchemas {
    /// Schemas of an endpoint without streams.
    pub(crate) fn whole<T: JsonSchema>(generator: &mut SchemaGenerator) -> Self {
        Self { whole: generator.subschema_for::<T>().to_value(), events: None }
    }
}
