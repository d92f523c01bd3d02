//! Schemas whose JSON spells no marker, for formats where the JSON stands among markers that are
//! only text.
//!
//! Every string and every key gets a `pattern`, which narrows the schema: what satisfies the result
//! satisfies the schema. Objects that declare properties have no others then; objects without any
//! stay maps.

use serde_json::{Map, Value, json};

use super::schema::{ANNOTATIONS, members};
use super::text::Forbidden;

/// Names of the definitions that stand for any JSON, and any string.
const ANY: &str = "any-json-without-markers";
const TEXT: &str = "any-string-without-markers";
/// Keywords under which the values are settled, or narrowed on their own.
const SETTLING: [&str; 3] = ["enum", "const", "$ref"];
const COMBINING: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The schema, narrowed to JSON without any of the forbidden literals.
///
/// # Errors
/// What can't be narrowed, by keyword and place: `patternProperties`, properties that several parts
/// of a schema declare, names and enumerated values that hold a literal.
pub(crate) fn without(schema: Value, forbidden: &Forbidden) -> Result<Value, String> {
    if forbidden.is_empty() {
        return Ok(schema);
    }
    let forbidden = &forbidden.in_json();
    let safe = Safe { pattern: forbidden.pattern(), forbidden };
    let mut schema =
        members(safe.schema(schema).map_err(|fault| format!("{} at #{}", fault.why, fault.place))?);
    let definitions = schema.entry("$defs").or_insert_with(|| json!({}));
    definitions[ANY] = safe.any();
    definitions[TEXT] = json!({"type": "string", "pattern": safe.pattern});
    Ok(Value::Object(schema))
}

struct Safe<'a> {
    pattern: String,
    forbidden: &'a Forbidden,
}

/// Why a schema can't be narrowed, and the path from the schema to the part at fault.
struct Unsafe {
    why: String,
    place: String,
}

impl Unsafe {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), place: String::new() }
    }

    /// The fault as one of the schema that has the present schema at `key`.
    fn below(self, key: &str) -> Self {
        Self { place: format!("/{key}{}", self.place), ..self }
    }
}

impl Safe<'_> {
    fn schema(&self, schema: Value) -> Result<Value, Unsafe> {
        let mut members = match schema {
            Value::Bool(true) => return Ok(reference(ANY)),
            Value::Object(members) => members,
            other => return Ok(other),
        };
        if let Some(keyword) = shares_properties(&members) {
            let why = format!(
                "{keyword:?} joins properties of several schemas, which can't be kept from spelling markers,"
            );
            return Err(Unsafe::new(why).below(keyword));
        }
        for (key, value) in &mut members {
            let inner = value.take();
            *value = self.member(key, inner).map_err(|fault| fault.below(key))?;
        }
        let combines =
            |key: &&str| members.get(*key).and_then(Value::as_array).is_some_and(|all| !all.is_empty());
        if !SETTLING.iter().any(|key| members.contains_key(*key)) && !COMBINING.iter().any(combines) {
            match plain(&members) {
                Some(definition) => return Ok(reference(definition)),
                None => self.narrow(&mut members),
            }
        }
        Ok(Value::Object(members))
    }

    fn member(&self, key: &str, value: Value) -> Result<Value, Unsafe> {
        match key {
            "properties" => self.map(value, true),
            "$defs" | "definitions" => self.map(value, false),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => self.list(value),
            "items" | "additionalItems" if value.is_array() => self.list(value),
            "items" | "additionalItems" | "additionalProperties" => self.schema(value),
            "enum" | "const" => self.checked(value),
            "patternProperties" => {
                Err(Unsafe::new("\"patternProperties\" can't be kept from spelling markers,"))
            }
            _ => Ok(value),
        }
    }

    /// Adds what keeps strings, keys and undeclared values from spelling markers.
    fn narrow(&self, members: &mut Map<String, Value>) {
        if may_be(members, "string") {
            match members.remove("pattern") {
                None => drop(members.insert("pattern".into(), self.pattern.as_str().into())),
                Some(pattern) => {
                    let both = [json!({"pattern": pattern}), json!({"pattern": self.pattern})].to_vec();
                    members.insert("allOf".into(), both.into());
                }
            }
        }
        if may_be(members, "array") {
            members.entry("items").or_insert_with(|| reference(ANY));
        }
        if may_be(members, "object") {
            let others = members.insert("additionalProperties".into(), false.into());
            let declares =
                members.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
            if !declares && others != Some(Value::Bool(false)) {
                let map = json!({self.pattern.as_str(): others.unwrap_or_else(|| reference(ANY))});
                members.insert("patternProperties".into(), map);
            }
        }
    }

    fn map(&self, schemas: Value, names: bool) -> Result<Value, Unsafe> {
        let Value::Object(schemas) = schemas else { return Ok(schemas) };
        let safe = |(name, schema): (String, Value)| {
            if names && !self.forbidden.allows(&name) {
                return Err(Unsafe::new(format!("the name {name:?} holds a marker,")));
            }
            if name == ANY || name == TEXT {
                return Err(Unsafe::new(format!("the name {name:?} is taken,")));
            }
            let schema = self.schema(schema).map_err(|fault| fault.below(&name))?;
            Ok((name, schema))
        };
        schemas.into_iter().map(safe).collect::<Result<Map<_, _>, _>>().map(Value::Object)
    }

    fn list(&self, schemas: Value) -> Result<Value, Unsafe> {
        let Value::Array(schemas) = schemas else { return Ok(schemas) };
        let safe =
            |(at, schema)| self.schema(schema).map_err(|fault: Unsafe| fault.below(&usize::to_string(&at)));
        schemas.into_iter().enumerate().map(safe).collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    /// An enumerated value.
    fn checked(&self, value: Value) -> Result<Value, Unsafe> {
        let allowed = match &value {
            Value::String(text) => self.forbidden.allows(text),
            Value::Array(_) | Value::Object(_) => self.forbidden.allows(&value.to_string()),
            _ => true,
        };
        if allowed { Ok(value) } else { Err(Unsafe::new("an enumerated value holds a marker,")) }
    }

    fn any(&self) -> Value {
        json!({"anyOf": [
            reference(TEXT),
            {"type": ["number", "boolean", "null"]},
            {"type": "array", "items": reference(ANY)},
            {"type": "object", "patternProperties": {self.pattern.as_str(): reference(ANY)}, "additionalProperties": false},
        ]})
    }
}

fn reference(definition: &str) -> Value {
    json!({"$ref": format!("#/$defs/{definition}")})
}

/// The keyword by which several schemas declare properties of one object: closed, each would refuse
/// the properties of the others.
fn shares_properties(members: &Map<String, Value>) -> Option<&'static str> {
    let has_own =
        members.get("properties").is_some_and(|all| all.as_object().is_some_and(|all| !all.is_empty()));
    let declaring = |keyword: &&str| {
        let parts = members.get(*keyword).and_then(Value::as_array).into_iter().flatten();
        parts.filter(|part| declares(part)).count()
    };
    let joined = ["allOf", "anyOf", "oneOf"].map(|keyword| (keyword, declaring(&keyword)));
    let refers = members.contains_key("$ref");
    // Of several alternatives only one applies.
    let places =
        joined.iter().map(|(keyword, count)| if *keyword == "allOf" { *count } else { (*count).min(1) });
    let places = places.sum::<usize>() + usize::from(has_own) + usize::from(refers);
    let found = joined.iter().find(|(_, count)| *count > 0).map(|(keyword, _)| *keyword);
    found.or(refers.then_some("$ref")).filter(|_| places > 1)
}

/// Whether a part of a schema declares properties, or may by a reference.
fn declares(part: &Value) -> bool {
    let Some(members) = part.as_object() else { return false };
    let of_parts = |keyword: &&str| {
        members.get(*keyword).and_then(Value::as_array).is_some_and(|parts| parts.iter().any(declares))
    };
    members.contains_key("$ref") || members.get("properties").is_some() || COMBINING.iter().any(of_parts)
}

/// The definition to which a schema is equal, if the schema says nothing, or only that it is a
/// string.
fn plain(members: &Map<String, Value>) -> Option<&'static str> {
    let mut telling = members.iter().filter(|(key, _)| !ANNOTATIONS.contains(&key.as_str()));
    match (telling.next(), telling.next()) {
        (None, _) => Some(ANY),
        (Some((key, kind)), None) if key == "type" && kind == "string" => Some(TEXT),
        _ => None,
    }
}

/// Whether the schema's `type` allows `kind`.
pub(crate) fn may_be(members: &Map<String, Value>, kind: &str) -> bool {
    match members.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => true,
    }
}
