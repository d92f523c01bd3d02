//! Closes the objects of schemas: one that declares properties has no others, unless the schema
//! speaks of others. The result says what models are made to write, not what readers have to
//! accept. (Open objects let a model go on for ever with keys that nobody asked for; xgrammar and
//! llama.cpp close them, too.)
//!
//! This narrows the schema: what satisfies the result satisfies the schema. Where schemas are
//! combined, an object's properties stand in several places, and all stay open.

use serde_json::{Map, Value};

/// Keywords by which other schemas constrain the same object.
const COMBINING: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "unevaluatedProperties"];
/// Keywords about properties that aren't declared.
const OTHERS: [&str; 3] = ["additionalProperties", "patternProperties", "unevaluatedProperties"];
/// Keywords whose value is a schema, or a list of them.
const WITHIN: [&str; 6] = ["items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "contains"];
/// Keywords whose value is a map from names to schemas.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// The schema with its objects closed.
pub(super) fn closed(mut schema: Value) -> Value {
    if !combines(&schema) {
        close(&mut schema);
    }
    schema
}

/// Whether an object is described in several places.
fn combines(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let is_shared = |key: &str| COMBINING.contains(&key) && !["anyOf", "oneOf"].contains(&key);
            let refers = members.contains_key("$ref")
                || ["anyOf", "oneOf"].iter().any(|key| members.contains_key(*key));
            (refers && members.contains_key("properties"))
                || members.iter().any(|(key, value)| {
                    is_shared(key)
                        || (NAMED.contains(&key.as_str()) && named(value).any(combines))
                        || (WITHIN.contains(&key.as_str()) && combines(value))
                })
        }
        Value::Array(items) => items.iter().any(combines),
        _ => false,
    }
}

fn named(schemas: &Value) -> impl Iterator<Item = &Value> {
    schemas.as_object().into_iter().flat_map(Map::values)
}

fn close(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                if let Value::Object(schemas) = value
                    && NAMED.contains(&key.as_str())
                {
                    schemas.values_mut().for_each(close);
                } else if WITHIN.contains(&key.as_str()) {
                    close(value);
                }
            }
            let declares =
                members.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
            if declares && !OTHERS.iter().any(|key| members.contains_key(*key)) {
                members.insert("additionalProperties".into(), false.into());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_with_properties_are_closed_everywhere() {
        let open = |inner: Value| json!({"type": "object", "properties": {"a": inner}});
        let shut = |inner: Value| json!({"type": "object", "properties": {"a": inner}, "additionalProperties": false});
        for (schema, wanted) in [
            (open(json!({})), shut(json!({}))),
            (open(json!({"items": open(json!({}))})), shut(json!({"items": shut(json!({}))}))),
            (
                json!({"anyOf": [open(json!({})), {"type": "null"}]}),
                json!({"anyOf": [shut(json!({})), {"type": "null"}]}),
            ),
            (
                json!({"$ref": "#/$defs/x", "$defs": {"x": open(json!({}))}}),
                json!({"$ref": "#/$defs/x", "$defs": {"x": shut(json!({}))}}),
            ),
        ] {
            assert_eq!(closed(schema), wanted);
        }
    }

    #[test]
    fn combined_or_explicitly_open_objects_are_unchanged() {
        let object = json!({"properties": {"a": {}}});
        for schema in [
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
            json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
            json!({"type": "object"}),
            json!({"properties": {}}),
            json!({"allOf": [object, {"properties": {"b": {}}}]}),
            json!({"properties": {"a": {}}, "anyOf": [object, object]}),
            json!({"properties": {"a": {"properties": {"b": {}}}}, "$defs": {"x": {"allOf": [object]}}}),
            json!({"properties": {"a": {}}, "$ref": "#/$defs/x", "$defs": {"x": object}}),
            json!({"enum": [{"properties": {"a": 1}}]}),
            json!(true),
        ] {
            assert_eq!(closed(schema.clone()), schema);
        }
    }
}
