//! Additions to the derived schemas of answers' types.

use schemars::Schema;
use serde_json::json;

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
