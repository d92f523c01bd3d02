//! JSON schemas of an endpoint's answers, and additions to those that are derived from types.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

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

/// Adds the `type` that a struct is tagged with.
pub(crate) fn tagged(kind: &'static str) -> impl Fn(&mut Schema) {
    move |schema| {
        let object = schema.ensure_object();
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("type".to_owned(), json!({ "const": kind }));
        }
        let required = object.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            required.insert(0, json!("type"));
        }
    }
}

/// Adds the padding, which readers of a stream append to the encoded event.
pub(crate) fn padded(schema: &mut Schema) {
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    properties["obfuscation"] = json!({ "description": "Padding.", "type": ["string", "null"] });
}
