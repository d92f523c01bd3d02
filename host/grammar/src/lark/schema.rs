//! JSON schemas as requests bring them: bounded, parsed, and made fit for `%json`.
//!
//! Invariant: what leaves here was parsed and written anew, and its `x-guidance` (llguidance's
//! settings, which a schema could use to loosen itself) is ours.

use serde_json::{Map, Value, json};

use super::closed::closed;
use super::digits::bounded;
use super::patterns::exact;
use super::text::escape;
use contract::json_text::nesting;

/// Greatest length of a schema, in bytes.
const BYTES: usize = 256 << 10;
/// Deepest nesting of a schema.
const DEPTH: usize = 64;
/// Greatest `multipleOf`, its decimal point left out: the regular expression of its multiples has
/// as many states.
const DIVISOR: u64 = 10_000;
/// White space at each place where JSON allows it: a blank, or a new line and its indentation.
/// Without a bound a model may write it for ever.
const WHITE_SPACE: &str = r"(?: |\r?\n[ \t]{0,32})";

/// Keywords that say nothing about values.
pub(crate) const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "$comment"];

/// How closely a schema is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// What llguidance doesn't know is an error.
    Strictly,
    /// What llguidance doesn't know is left out.
    Leniently,
}

/// Parses a schema; `what` says in errors whose it is.
pub(super) fn parse(text: &str, what: &str) -> Result<Value, String> {
    if text.len() > BYTES {
        return Err(format!("the schema of {what} has {} bytes, at most {BYTES} are allowed", text.len()));
    }
    if nesting(text) > DEPTH {
        return Err(format!("the schema of {what} is nested more than {DEPTH} deep"));
    }
    let text = if text.trim().is_empty() { "{}" } else { text };
    match serde_json::from_str(text) {
        Ok(schema @ (Value::Object(_) | Value::Bool(_))) => match divisors(&schema) {
            Some(divisor) if divisor <= DIVISOR => Ok(schema),
            _ => Err(format!(
                "the schema of {what} has \"multipleOf\" too large to be followed (at most {DIVISOR} in all that are combined)"
            )),
        },
        Ok(_) => Err(format!("the schema of {what} is neither an object nor a boolean")),
        Err(error) => Err(format!("the schema of {what} is not JSON: {error}")),
    }
}

/// Lark expression of JSON by a response's schema, where nothing needs to be kept out of that JSON.
///
/// # Errors
/// It is too large, or no schema.
pub fn response_json(schema: &str) -> Result<String, String> {
    Ok(super::writer::json(&prepared(parse(schema, "the response")?, Follow::Strictly)))
}

/// The schema, set up for `%json`.
pub(crate) fn prepared(schema: Value, follow: Follow) -> Value {
    let mut members = members(exact(closed(bounded(schema))));
    let lenient = follow == Follow::Leniently;
    members.insert("x-guidance".into(), json!({"whitespace_pattern": WHITE_SPACE, "lenient": lenient}));
    Value::Object(members)
}

/// The schema as an object of keywords; a boolean becomes an object of the same meaning.
pub(super) fn members(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(members) => members,
        Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => Map::new(),
    }
}

/// The schema narrowed to objects; `None` if it allows none.
pub(super) fn of_object(schema: Value) -> Option<Value> {
    let mut members = members(schema);
    match members.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {}
        Some(_) => return None,
    }
    members.insert("type".into(), "object".into());
    Some(Value::Object(members))
}

/// The keys of a schema's objects, where it allows no others.
pub(super) fn sole_keys(schema: &Value) -> Option<Vec<String>> {
    let others = ["$ref", "$dynamicRef", "patternProperties"];
    let members =
        schema.as_object().filter(|members| !others.iter().any(|key| members.contains_key(*key)))?;
    if members.get("additionalProperties") != Some(&Value::Bool(false)) {
        return None;
    }
    let properties = members.get("properties").and_then(Value::as_object);
    Some(properties.into_iter().flat_map(Map::keys).cloned().collect())
}

/// Schema of objects that have none but these keys, in any order.
pub(super) fn of_keys(keys: &[String]) -> Value {
    let written: Vec<String> = keys.iter().map(|key| key.chars().map(escape).collect()).collect();
    let keys = json!({ format!("^(?:{})$", written.join("|")): {} });
    let keys = if written.is_empty() { json!({}) } else { keys };
    json!({"type": "object", "patternProperties": keys, "additionalProperties": false})
}

/// Number of states that `multipleOf` needs: the largest in the schema, or the product where
/// schemas are combined. `None` if it overflows.
fn divisors(schema: &Value) -> Option<u64> {
    let (mut largest, mut product, mut combines) = (1_u64, Some(1_u64), false);
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                combines |= members.contains_key("allOf") || members.contains_key("$ref");
                if let Some(Value::Number(divisor)) = members.get("multipleOf") {
                    // Written out, without an exponent.
                    let written = divisor.as_f64()?.to_string();
                    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
                    let states = digits.parse::<u64>().ok()?.max(1);
                    largest = largest.max(states);
                    product = product.and_then(|product| product.checked_mul(states));
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    if combines { product } else { Some(largest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_cannot_bring_settings_of_its_own() {
        let schema = parse(r#"{"x-guidance":{"lenient":true,"item_separator":"<end>"}}"#, "f").unwrap();
        let settings = &prepared(schema, Follow::Strictly)["x-guidance"];
        assert_eq!(settings["lenient"], false);
        assert!(settings.get("item_separator").is_none());
    }

    #[test]
    fn large_and_deep_schemas_are_refused() {
        let large = format!("{{\"title\":\"{}\"}}", "x".repeat(BYTES));
        assert!(parse(&large, "f").unwrap_err().contains("bytes"));
        let deep = "[".repeat(DEPTH + 1);
        assert!(parse(&deep, "f").unwrap_err().contains("deep"));
        assert!(parse(r#"{"title":"[[[[\"[["}"#, "f").is_ok());
    }

    #[test]
    fn divisors_are_bounded_alone_and_together() {
        let number = |divisor: &str| format!(r#"{{"type":"number","multipleOf":{divisor}}}"#);
        for small in ["1", "0.01", "250", "9973"] {
            assert!(parse(&number(small), "f").is_ok(), "{small}");
        }
        for large in ["999983", "1e30", "0.123457"] {
            assert!(parse(&number(large), "f").unwrap_err().contains("multipleOf"), "{large}");
        }
        let both = format!(r#"{{"allOf":[{},{}]}}"#, number("997"), number("991"));
        assert!(parse(&both, "f").unwrap_err().contains("multipleOf"));
        let apart = format!(r#"{{"properties":{{"a":{},"b":{}}}}}"#, number("997"), number("991"));
        assert!(parse(&apart, "f").is_ok());
    }

    #[test]
    fn arguments_are_objects() {
        let object = |text: &str| of_object(parse(text, "f").unwrap());
        assert_eq!(object(r#"{"type":["object","null"]}"#).unwrap()["type"], "object");
        assert_eq!(object("").unwrap()["type"], "object");
        assert!(object(r#"{"type":"string"}"#).is_none());
    }
}
