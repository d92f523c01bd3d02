//! Regular expressions of schemas, as the grammar engine gets them right inside JSON's quotes.
//!
//! llguidance (its `derivre` 0.3) quotes a set of characters that has all control characters as a whole, and lets `\"` and `\\` come then, even
//! where the set has no quote or no backslash: `^[^"]$` would take `"\""`. A negated set that may lack one of them loses one control
//! character here, so that it is quoted character by character. This narrows a pattern by texts with U+0001, and changes nothing else.

use serde_json::{Map, Value};

/// Keywords whose value has schemas by names.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is no schema.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// The schema with such patterns.
pub(super) fn exact(schema: Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.into_iter().map(exact).collect(),
        Value::Object(members) => Value::Object(members.into_iter().map(member).collect()),
        other => other,
    }
}

fn member((key, value): (String, Value)) -> (String, Value) {
    let value = match (key.as_str(), value) {
        ("pattern", Value::String(pattern)) => Value::String(quotable(&pattern)),
        ("patternProperties", Value::Object(schemas)) => {
            let all = schemas.into_iter().map(|(pattern, schema)| (quotable(&pattern), exact(schema)));
            Value::Object(all.collect::<Map<_, _>>())
        }
        (name, Value::Object(schemas)) if NAMED.contains(&name) => {
            Value::Object(schemas.into_iter().map(|(name, schema)| (name, exact(schema))).collect())
        }
        (name, value) if VALUES.contains(&name) => value,
        (_, value) => exact(value),
    };
    (key, value)
}

/// The pattern, whose negated sets lack U+0001 where they may lack a quote or a backslash.
fn quotable(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '[']) {
        let (before, here) = rest.split_at(at);
        written.push_str(before);
        let escaped = here.chars().nth(1).filter(|_| here.starts_with('\\'));
        let taken = if let Some(escaped) = escaped {
            written.push_str(&here[..=escaped.len_utf8()]);
            1 + escaped.len_utf8()
        } else if let Some(set) = here.strip_prefix("[^")
            && may_lack(set)
        {
            written.push_str("[^\\x01");
            // What begins a set stands for itself there, and nowhere else.
            let first = set.chars().next().filter(|first| matches!(first, ']' | '-'));
            if let Some(first) = first {
                written.extend(['\\', first]);
            }
            2 + usize::from(first.is_some())
        } else {
            written.push_str(&here[..1]);
            1
        };
        rest = &here[taken..];
    }
    written.push_str(rest);
    written
}

/// Whether a negated set with such a beginning may lack a quote or a backslash: it names one, perhaps by an escape or in a range.
fn may_lack(set: &str) -> bool {
    let first = set.chars().next().map_or(0, char::len_utf8);
    let end = set[first..].find(']').map_or(set.len(), |end| first + end);
    set[..end].contains(['"', '\\', '-'])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn negated_sets_that_may_lack_a_quote_or_a_backslash_lose_a_control_character() {
        for (pattern, wanted) in [
            (r#"^[^"]$"#, r#"^[^\x01"]$"#),
            (r"^[^\\]$", r"^[^\x01\\]$"),
            (r#"[^]"]"#, r#"[^\x01\]"]"#),
            (r#"[^-"]"#, r#"[^\x01\-"]"#),
            (r"[^a-z]é[^\p{P}]", r"[^\x01a-z]é[^\x01\p{P}]"),
            (r"\[^\]", r"\[^\]"),
            (r"[^<]+[a-z]\\[^<]", r"[^<]+[a-z]\\[^<]"),
            (r#"[a[^"]]"#, r#"[a[^\x01"]]"#),
            ("[", "["),
            (r"a\", r"a\"),
            (r#"[^""#, r#"[^\x01""#),
        ] {
            assert_eq!(quotable(pattern), wanted, "{pattern}");
        }
    }

    #[test]
    fn patterns_are_found_wherever_schemas_stand_and_nowhere_else() {
        let schema = |pattern: &str| {
            json!({"anyOf": [{"pattern": pattern}], "properties": {"pattern": {"items": {"pattern": pattern}}},
                "patternProperties": {pattern: {"not": {"pattern": pattern}}}, "enum": [{"pattern": "[^\"]"}]})
        };
        assert_eq!(exact(schema("[^\"]")), schema("[^\\x01\"]"));
    }
}
