//! Tables of fields as JSON schemas. What is refused is left out: a schema says what is possible.

use serde_json::{Map, Value, json};

use super::reference;
use crate::fields::{self, KindOf, Kinds, Row, Shape, Support, Tables};

/// The schema of a body; shapes with a name are added to `named`.
pub(super) fn request(tables: Tables, named: &mut Map<String, Value>) -> Value {
    object(fields::all(tables), named)
}

fn object<'a>(fields: impl Iterator<Item = &'a Row>, named: &mut Map<String, Value>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields.filter(|field| !matches!(field.support, Support::Refused(_))) {
        properties.insert(field.name.to_owned(), property(field, named));
        if field.required.is_some() {
            required.push(field.name);
        }
    }
    let mut object = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

/// A field with what is said of it; null where it may be absent.
fn property(field: &Row, named: &mut Map<String, Value>) -> Value {
    let mut property = schema(&field.shape, named);
    if field.required.is_none() {
        nullable(&mut property);
    }
    let bound = match field.shape {
        Shape::UpTo(_, max) => format!("At most {max} by default."),
        _ => String::new(),
    };
    let description = described(field.support, &bound, field.note);
    if !description.is_empty() {
        if property.get("$ref").is_some() {
            property = json!({ "allOf": [property] });
        }
        property["description"] = Value::String(description);
    }
    property
}

/// What is said of a field or kind.
fn described(support: Support, bound: &str, note: &str) -> String {
    let support = match support {
        Support::Ignored => "Ignored.",
        Support::Warned => "Ignored, with a warning.",
        _ => "",
    };
    let said = [support, bound, note].into_iter().filter(|part| !part.is_empty());
    said.collect::<Vec<_>>().join(" ")
}

fn nullable(schema: &mut Value) {
    let Some(object) = schema.as_object_mut().filter(|object| !object.is_empty()) else { return };
    match object.get("type").cloned() {
        Some(kind) => {
            object.insert("type".to_owned(), json!([kind, "null"]));
            if let Some(Value::Array(values)) = object.get_mut("enum") {
                values.push(Value::Null);
            }
        }
        None => *schema = json!({ "anyOf": [schema.take(), { "type": "null" }] }),
    }
}

/// The schema of a value of this shape.
pub(super) fn schema(shape: &Shape, named: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Any => json!({}),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Integer(min, max) => {
            let mut schema = json!({ "type": "integer" });
            if *min != i64::MIN {
                schema["minimum"] = json!(min);
            }
            if *max != i64::MAX {
                schema["maximum"] = json!(max);
            }
            schema
        }
        Shape::UpTo(min, _) => json!({ "type": "integer", "minimum": min }),
        Shape::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Shape::OneOf(values) => json!({ "type": "string", "enum": values }),
        Shape::List(inner) => json!({ "type": "array", "items": schema(inner, named) }),
        Shape::Object(fields) => object(fields.iter(), named),
        Shape::Map(inner) => json!({ "type": "object", "additionalProperties": schema(inner, named) }),
        Shape::Either(shapes) => {
            let any: Vec<Value> = shapes.iter().map(|shape| schema(shape, named)).collect();
            json!({ "anyOf": any })
        }
        Shape::Kinds(kinds) => kinds_schema(kinds, named),
    }
}

fn kinds_schema(kinds: &Kinds, named: &mut Map<String, Value>) -> Value {
    if !named.contains_key(kinds.name) {
        let possible = kinds.of.iter().filter(|kind| !matches!(kind.support, Support::Refused(_)));
        let mut any: Vec<Value> = possible.map(|kind| kind_schema(kind, named)).collect();
        if kinds.others.is_some() {
            let known: Vec<&str> = kinds.of.iter().filter_map(|kind| kind.kind).collect();
            let other = json!({ "type": "string", "not": { "enum": known } });
            any.push(json!({
                "type": "object",
                "required": ["type"],
                "properties": { "type": other },
                "description": "Another kind.",
            }));
        }
        named.insert(kinds.name.to_owned(), json!({ "anyOf": any }));
    }
    reference(kinds.name)
}

fn kind_schema(kind: &KindOf, named: &mut Map<String, Value>) -> Value {
    let mut schema = object(kind.fields.iter(), named);
    if let Some(name) = kind.kind {
        schema["properties"]["type"] = json!({ "const": name });
        let required = schema.as_object_mut().expect("an object").entry("required");
        if let Some(required) = required.or_insert_with(|| json!([])).as_array_mut() {
            required.insert(0, json!("type"));
        }
    }
    let description = described(kind.support, "", kind.note);
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}
