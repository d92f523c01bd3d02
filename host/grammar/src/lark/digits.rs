//! Bounds the integers of schemas: without a bound a model may write digits for ever.
//!
//! An integer that has no `minimum` or no `maximum` gets one, so that 64-bit integers can be
//! written, as does a multiple (`multipleOf`), which has no exponent. This narrows a schema, and
//! changes nothing in one that names larger numbers. The digits of fractions have no bound in a
//! schema; hosts bound them (`host/grammar-trial`).

use serde_json::{Map, Value};

use super::patterns::{NAMED, VALUES};

/// Greatest magnitude: the largest double below 2^63, since the grammar engine reads bounds as
/// doubles.
const GREATEST: i64 = 9_223_372_036_854_774_784;
/// The first double beyond [`GREATEST`].
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;
/// Most integers of a schema that is bounded: each bound takes the grammar's compiler time, and
/// what it may take has a limit.
const MOST: usize = 256;
/// Keywords in whose schemas a narrower one allows more.
const NEGATING: [&str; 2] = ["not", "if"];

/// The schema with its integers bounded.
pub(super) fn bounded(schema: Value) -> Value {
    let (mut narrow, mut count) = (schema.clone(), 0);
    bound(&mut narrow, &mut count);
    if count > MOST || names_larger(&schema) { schema } else { narrow }
}

/// Whether a number beyond the bound stands anywhere in the schema.
fn names_larger(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_none_or(|number| number.abs() >= TOO_LARGE),
        Value::Array(values) => values.iter().any(names_larger),
        Value::Object(members) => members.values().any(names_larger),
        _ => false,
    }
}

fn bound(schema: &mut Value, count: &mut usize) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| bound(schema, count)),
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                match value {
                    Value::Object(schemas) if NAMED.contains(&key.as_str()) => {
                        schemas.values_mut().for_each(|schema| bound(schema, count));
                    }
                    _ if VALUES.contains(&key.as_str()) || NEGATING.contains(&key.as_str()) => {}
                    value => bound(value, count),
                }
            }
            let lists = ["enum", "const"].iter().any(|key| members.contains_key(*key));
            let is_multiple = is_typed(members, "number") && members.contains_key("multipleOf");
            if (is_integer(members) || is_multiple) && !lists {
                *count += 1;
                members.entry("minimum").or_insert_with(|| (-GREATEST).into());
                members.entry("maximum").or_insert_with(|| GREATEST.into());
            }
        }
        _ => {}
    }
}

fn is_integer(members: &Map<String, Value>) -> bool {
    is_typed(members, "integer") && !is_typed(members, "number")
}

/// Whether the schema's `type` names this one.
fn is_typed(members: &Map<String, Value>, name: &str) -> bool {
    match members.get("type") {
        Some(Value::Array(types)) => types.iter().any(|kind| kind == name),
        kind => kind.is_some_and(|kind| kind == name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unbounded_integers_get_bounds_everywhere() {
        let wanted = json!({"type": "integer", "minimum": -GREATEST, "maximum": GREATEST});
        let integer = json!({"type": "integer"});
        let place = |inner: &Value| json!({"properties": {"minimum": inner}, "items": inner, "anyOf": [inner], "$defs": {"x": inner}});
        assert_eq!(bounded(place(&integer)), place(&wanted));
        let nullable = bounded(json!({"type": ["null", "integer"], "minimum": 0}));
        assert_eq!(nullable, json!({"type": ["null", "integer"], "minimum": 0, "maximum": GREATEST}));
    }

    #[test]
    fn multiples_are_bounded_as_integers_are() {
        let multiple = json!({"type": "number", "multipleOf": 0.5, "maximum": 9});
        let wanted = json!({"type": "number", "multipleOf": 0.5, "maximum": 9, "minimum": -GREATEST});
        assert_eq!(bounded(multiple), wanted);
    }

    #[test]
    fn a_schema_of_very_many_integers_stays() {
        let many = |count| json!({"anyOf": vec![json!({"type": "integer"}); count]});
        assert_ne!(bounded(many(MOST)), many(MOST));
        assert_eq!(bounded(many(MOST + 1)), many(MOST + 1));
    }

    #[test]
    fn other_values_and_larger_numbers_stay_as_they_are() {
        for schema in [
            json!({"type": "number"}),
            json!({"type": ["integer", "number"]}),
            json!({"type": "integer", "enum": [1, 2]}),
            json!({"type": "integer", "const": 7}),
            json!({"not": {"type": "integer"}}),
            json!({"default": {"type": "integer"}}),
            json!({"type": "integer", "minimum": 1e19}),
            json!({"allOf": [{"type": "integer"}, {"maximum": 1e30}]}),
        ] {
            assert_eq!(bounded(schema.clone()), schema);
        }
    }
}
