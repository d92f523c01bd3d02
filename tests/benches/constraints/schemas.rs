//! Schemas of the benchmark, each with an instance: what a request for structured output usually
//! has, and more.

use serde_json::{Map, Value, json};

const WORDS: [&str; 12] = [
    "river",
    "a quiet morning",
    "42 Main Street",
    "naïve",
    "ordered twice",
    "blue, not green",
    "to be confirmed",
    "x",
    "the second of three parts",
    "Zürich",
    "see the note below",
    "returned unopened",
];

/// Some words, which differ from place to place.
pub(crate) fn words(at: usize) -> &'static str {
    WORDS[at * 7 % WORDS.len()]
}

/// Schema of an order: objects in lists in objects, enumerations, formats, patterns, alternatives,
/// a recursive definition.
pub(crate) fn order() -> Value {
    let text = json!({"type": "string"});
    let money = json!({"type": "object", "properties": {"amount": {"type": "number", "minimum": 0}, "currency":
        {"enum": ["EUR", "USD", "CHF"]}}, "required": ["amount", "currency"], "additionalProperties": false});
    let person = json!({"type": "object", "properties": {"name": text, "email": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150}, "addresses": {"type": "array", "items": {"$ref": "#/$defs/address"}}},
        "required": ["name", "addresses"], "additionalProperties": false});
    let address = json!({"type": "object", "properties": {"street": text, "city": text, "zip":
        {"type": "string", "pattern": "^[0-9]{5}$"}, "country": {"type": "string", "minLength": 2, "maxLength": 2}},
        "required": ["street", "city", "zip"], "additionalProperties": false});
    let item = json!({"type": "object", "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"}, "title": text,
        "quantity": {"type": "integer", "minimum": 1}, "price": {"$ref": "#/$defs/money"}, "discount":
        {"anyOf": [{"$ref": "#/$defs/money"}, {"type": "null"}]}, "options": {"type": "object", "additionalProperties": text},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
        "required": ["sku", "title", "quantity", "price"], "additionalProperties": false});
    json!({"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}, "created": {"type": "string", "format": "date-time"},
        "customer": {"$ref": "#/$defs/person"}, "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "minItems": 1},
        "status": {"enum": ["new", "paid", "sent", "returned"]}, "gift": {"type": "boolean"}, "remarks": text},
        "required": ["id", "created", "customer", "items", "status"], "additionalProperties": false,
        "$defs": {"money": money, "person": person, "address": address, "item": item}})
}

/// Instance of [`order`].
pub(crate) fn order_instance() -> Value {
    let address = |at| json!({"street": words(at), "city": words(at + 1), "zip": format!("{:05}", 1000 + 37 * at), "country": "CH"});
    let money = |at: usize| json!({"amount": at * 17, "currency": "CHF"});
    let part = |at: usize| json!({"sku": format!("ABC-{:04}", at * 31), "title": words(at), "quantity": at + 1, "price": money(at)});
    let item = |at: usize| {
        let mut item = part(at);
        item["discount"] = if at.is_multiple_of(2) { Value::Null } else { money(1) };
        item["options"] = json!({"colour": words(at + 2), "gift wrap": words(at + 3)});
        item["parts"] = (1..3).map(|inner| part(at + inner)).collect();
        item
    };
    json!({"id": "0b0e7b6c-6f3f-4c3e-9d7e-0a3f5c8d1e2f", "created": "2026-11-22T18:05:00Z", "customer": {"name": words(3),
        "email": "someone@example.org", "age": 41, "addresses": [address(4), address(9)]}, "items": (0..4).map(item).collect::<Value>(),
        "status": "paid", "gift": false, "remarks": "Please ring twice, then leave it with the neighbour on the ground floor."})
}

/// Schema of an object with `count` properties of six types, of which every third is required.
pub(crate) fn wide(count: usize) -> Value {
    let kind = |at: usize| match at % 6 {
        0 => json!({"type": "string"}),
        1 => json!({"type": "integer"}),
        2 => json!({"type": "number"}),
        3 => json!({"type": "boolean"}),
        4 => json!({"enum": ["low", "medium", "high"]}),
        _ => json!({"type": "array", "items": {"type": "string"}}),
    };
    let properties: Map<String, Value> = (0..count).map(|at| (key(at), kind(at))).collect();
    let required: Value = (0..count).step_by(3).map(key).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Instance of [`wide`] with two thirds of the properties.
pub(crate) fn wide_instance(count: usize) -> Value {
    let value = |at: usize| match at % 6 {
        0 => json!(words(at)),
        1 => json!(at * 3),
        2 => json!(0.5),
        3 => json!(true),
        4 => json!("medium"),
        _ => json!([words(at), words(at + 1)]),
    };
    let members: Map<String, Value> =
        (0..count).filter(|at| at % 3 != 1).map(|at| (key(at), value(at))).collect();
    Value::Object(members)
}

fn key(at: usize) -> String {
    const NAMES: [&str; 5] = ["field", "customer_note", "lineTotal", "flag", "measured-value"];
    format!("{}_{at}", NAMES[at % NAMES.len()])
}

/// Object that a model might write where any object is allowed.
pub(crate) fn any_object() -> Value {
    let entry = |at: usize| json!({"title": words(at), "score": at, "tags": [words(at + 1), words(at + 2)], "seen": null, "ok": true});
    json!({"summary": "Three places fit what was asked for, and one of them is open on Sundays.",
        "results": (0..8).map(entry).collect::<Value>(), "next": {"cursor": "eyJvIjo4fQ==", "more": false}})
}

/// Schema of a tool's arguments, as tools usually declare them; it differs from tool to tool.
pub(crate) fn parameters(at: usize) -> Value {
    json!({"type": "object", "properties": {
        "query": {"type": "string", "description": "What to look for."},
        format!("limit_{at}"): {"type": "integer", "minimum": 1, "maximum": 100},
        "sort": {"type": "string", "enum": ["date", "name", "relevance"]},
        "filter": {"type": "object", "properties": {"since": {"type": "string", "format": "date"}, "tags":
            {"type": "array", "items": {"type": "string"}}}, "required": ["since"], "additionalProperties": false},
        "verbose": {"type": "boolean"}},
        "required": ["query", "filter"], "additionalProperties": false})
}

/// Instance of [`parameters`] for the same tool.
pub(crate) fn arguments(at: usize) -> Value {
    json!({"query": "the minutes of the last meeting, and who was there", format!("limit_{at}"): 20, "sort": "date",
        "filter": {"since": "2026-01-31", "tags": [words(at), words(at + 1)]}, "verbose": false})
}
