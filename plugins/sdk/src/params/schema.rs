//! The types that a tool's JSON schema allows its parameters.
//!
//! Schemas are request data: what is too large or nested too deep is read as no schema at all, and looking a parameter up visits a
//! bounded number of subschemas, however they refer to each other. Unknown keywords and broken ones constrain nothing.

use serde_json::Value;

use super::Types;

/// Largest schema that is read, in bytes.
const BYTES: usize = 256 << 10;
/// Deepest nesting that is read and followed.
const DEPTH: usize = 64;
/// Most subschemas that are visited for one parameter.
const VISITS: usize = 1024;

/// The schema of a tool's arguments.
#[derive(Debug, Default)]
pub struct Schema {
    root: Option<Value>,
}

impl Schema {
    /// Reads a schema; one that can't be read constrains nothing.
    pub fn parse(json: &str) -> Self {
        let bounded = json.len() <= BYTES && nesting(json) <= DEPTH;
        Self { root: if bounded { crate::json::value(json).ok() } else { None } }
    }

    /// Types that the value of parameter `key` may have; string alone where the schema doesn't say.
    pub fn types(&self, key: &str) -> Types {
        let walk = |root| Walk { root, visits: VISITS }.parameter(root, key, DEPTH);
        let types = self.root.as_ref().and_then(walk);
        types.filter(|types| *types != Types::NONE).unwrap_or(Types::STRING)
    }

    /// Whether a parameter of this name may be expected: it is among the properties, or the schema lists none.
    pub fn expects(&self, key: &str) -> bool {
        let properties = self.root.as_ref().and_then(|root| root.get("properties")?.as_object());
        properties.is_none_or(|properties| properties.is_empty() || properties.contains_key(key))
    }
}

/// One look-up in a schema, with the number of subschemas that it may still visit.
struct Walk<'a> {
    root: &'a Value,
    visits: usize,
}

impl<'a> Walk<'a> {
    /// The types of property `key` of the objects that `schema` describes; `None` where `schema` doesn't say.
    fn parameter(&mut self, schema: &'a Value, key: &str, depth: usize) -> Option<Types> {
        let depth = self.step(depth)?;
        if let Some(property) = schema.get("properties").and_then(|properties| properties.get(key)) {
            return Some(self.types(property, depth).unwrap_or(Types::STRING));
        }
        let mut found: Option<Types> = None;
        let lists = ["allOf", "anyOf", "oneOf"].map(|keyword| list(schema, keyword));
        for part in lists.into_iter().flatten().chain(self.target(schema)) {
            if let Some(types) = self.parameter(part, key, depth) {
                found = Some(found.map_or(types, |before| before.or(types)));
            }
        }
        found.or_else(|| self.types(schema.get("additionalProperties")?, depth))
    }

    /// The types that `schema` allows; none where it doesn't say.
    fn types(&mut self, schema: &'a Value, depth: usize) -> Option<Types> {
        let depth = self.step(depth)?;
        let mut types = named(schema.get("type"));
        let mut and = |more: Option<Types>| {
            types = match (types, more) {
                (Some(one), Some(other)) => Some(one.and(other)),
                (one, other) => one.or(other),
            }
        };
        and(schema.get("const").map(Types::of));
        and(schema.get("enum").and_then(Value::as_array).map(|values| any(values.iter().map(Types::of))));
        for part in list(schema, "allOf").iter().chain(self.target(schema)) {
            and(self.types(part, depth));
        }
        for keyword in ["anyOf", "oneOf"] {
            let parts = list(schema, keyword);
            if !parts.is_empty() {
                // A branch that may be anything may be a string.
                let types = parts.iter().map(|part| self.types(part, depth).unwrap_or(Types::STRING));
                and(Some(any(types)));
            }
        }
        types.or_else(|| implied(schema))
    }

    /// The subschema that a local `$ref` points to.
    fn target(&self, schema: &Value) -> Option<&'a Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn step(&mut self, depth: usize) -> Option<usize> {
        self.visits = self.visits.checked_sub(1)?;
        depth.checked_sub(1)
    }
}

/// Types that the keyword `type` names, by one name or a list of names.
fn named(names: Option<&Value>) -> Option<Types> {
    let types = match names? {
        Value::String(name) => Types::named(name),
        Value::Array(names) => any(names.iter().filter_map(Value::as_str).map(Types::named)),
        _ => Types::NONE,
    };
    (types != Types::NONE).then_some(types)
}

/// The type that type-specific keywords imply where `type` is missing.
fn implied(schema: &Value) -> Option<Types> {
    let has = |keyword| schema.get(keyword).is_some();
    if has("properties") || has("additionalProperties") {
        return Some(Types::OBJECT);
    }
    has("items").then_some(Types::ARRAY)
}

fn any(types: impl Iterator<Item = Types>) -> Types {
    types.fold(Types::NONE, Types::or)
}

fn list<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    schema.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// How deep brackets nest in a JSON text.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest, mut string, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            b'{' | b'[' if !string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
