//! JSON schemas that engines follow with compilers of their own, as read in their sources:
//! llama.cpp b11434 (`common/json-schema.cpp`, `json-schema-to-grammar.cpp`) and xgrammar
//! (`cpp/json_schema_converter.cc`), which vLLM and SGLang use by default.
//!
//! Both take one form of a schema, such as `enum`, and pass over the keywords beside it without a
//! word. So a keyword counts as followed only where it was seen to be; a request whose schema has
//! another one is refused by its name. llguidance refuses by itself what it can't follow.

use serde_json::{Map, Value};

use super::pattern::is_translatable;

/// Compiler of schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaCompiler {
    LlamaCpp,
    Xgrammar,
    Llguidance,
}

/// What each compiler doesn't follow of one schema: a keyword and its place.
#[derive(Debug, Clone, Default)]
pub(super) struct SchemaGaps {
    llamacpp: Option<String>,
    xgrammar: Option<String>,
}

/// Keywords that restrict values of one type.
const OF_TYPES: [(&str, &[&str]); 4] = [
    ("number", &["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
    ("string", &["minLength", "maxLength", "pattern", "format"]),
    (
        "array",
        &[
            "items",
            "prefixItems",
            "additionalItems",
            "unevaluatedItems",
            "contains",
            "minContains",
            "maxContains",
            "minItems",
            "maxItems",
            "uniqueItems",
        ],
    ),
    (
        "object",
        &[
            "properties",
            "patternProperties",
            "additionalProperties",
            "unevaluatedProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "required",
            "dependentRequired",
            "dependentSchemas",
            "dependencies",
        ],
    ),
];
/// Keywords that restrict values of all types.
const OF_ALL: [&str; 10] =
    ["$ref", "$dynamicRef", "$recursiveRef", "enum", "const", "allOf", "anyOf", "oneOf", "not", "if"];
/// Keywords whose value is an object of schemas under names that the author chose.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose values are plain data and never schemas.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];
/// Formats that each compiler knows; others are passed over.
const LLAMACPP_FORMATS: [&str; 5] = ["date", "time", "date-time", "uuid", "uuid4"];
const XGRAMMAR_FORMATS: [&str; 9] =
    ["date", "time", "date-time", "duration", "uuid", "email", "hostname", "ipv4", "ipv6"];

impl SchemaGaps {
    /// Compares a schema with what the compilers follow. Text that is no JSON has no gaps: engines
    /// refuse it.
    pub(super) fn of(schema: &str) -> Self {
        let Ok(schema) = serde_json::from_str::<Value>(schema) else { return Self::default() };
        let gap = |compiler: SchemaCompiler| compiler.gap(&schema, "#");
        Self { llamacpp: gap(SchemaCompiler::LlamaCpp), xgrammar: gap(SchemaCompiler::Xgrammar) }
    }

    /// What the compiler doesn't follow: the first keyword and its place.
    pub(super) fn for_compiler(&self, compiler: SchemaCompiler) -> Option<&str> {
        match compiler {
            SchemaCompiler::LlamaCpp => self.llamacpp.as_deref(),
            SchemaCompiler::Xgrammar => self.xgrammar.as_deref(),
            SchemaCompiler::Llguidance => None,
        }
    }
}

impl SchemaCompiler {
    /// The first keyword at or below `place` that isn't followed. Requests' schemas have a bounded
    /// depth.
    fn gap(self, schema: &Value, place: &str) -> Option<String> {
        match schema {
            Value::Object(members) => {
                if let Some(keyword) = self.unfollowed(members) {
                    return Some(format!("\"{keyword}\" at {place}/{keyword}"));
                }
                let inner = members.iter().filter(|(key, _)| !VALUES.contains(&key.as_str()));
                inner.into_iter().find_map(|(key, value)| match value {
                    Value::Object(named) if NAMED.contains(&key.as_str()) => named
                        .iter()
                        .find_map(|(name, schema)| self.gap(schema, &format!("{place}/{key}/{name}"))),
                    _ => self.gap(value, &format!("{place}/{key}")),
                })
            }
            Value::Array(schemas) => schemas
                .iter()
                .enumerate()
                .find_map(|(index, schema)| self.gap(schema, &format!("{place}/{index}"))),
            _ => None,
        }
    }

    /// A keyword of this schema that restricts values and isn't followed.
    fn unfollowed(self, schema: &Map<String, Value>) -> Option<&'static str> {
        let order: &[&str] = match self {
            Self::LlamaCpp => &["$ref", "oneOf", "anyOf", "const", "enum"],
            Self::Xgrammar => &["$ref", "const", "enum", "anyOf", "oneOf", "allOf"],
            Self::Llguidance => return None,
        };
        let has = |keyword: &str| schema.get(keyword).is_some_and(|value| restricts(keyword, value));
        match order.iter().copied().find(|form| schema.contains_key(*form)) {
            // Every value of these is written out, whatever stands beside them.
            Some(form @ ("const" | "enum")) => {
                let types = types(schema);
                let values = if form == "enum" {
                    schema[form].as_array()?
                } else {
                    std::slice::from_ref(&schema[form])
                };
                let fits = |value| types.is_empty() || types.iter().any(|name| is_of_type(value, name));
                if !values.iter().all(fits) {
                    return Some("type");
                }
                let about = |of: &str| values.iter().any(|value| is_of_type(value, of));
                let beside = OF_TYPES.iter().filter(|(of, _)| about(of)).flat_map(|(_, keywords)| *keywords);
                beside.chain(&OF_ALL).copied().find(|keyword| *keyword != form && has(keyword))
            }
            Some(form @ ("$ref" | "anyOf")) => {
                let beside = OF_TYPES.iter().flat_map(|(_, keywords)| *keywords).chain(&OF_ALL).copied();
                let type_beside = schema.contains_key("type").then_some("type");
                beside
                    .chain(type_beside)
                    .find(|keyword| *keyword != form && (has(keyword) || *keyword == "type"))
            }
            // Alternatives may overlap for these compilers, and parts are merged only in simple
            // cases.
            Some("oneOf") => Some("oneOf"),
            Some(_) => Some("allOf"),
            None => self.unfollowed_of_types(schema, has),
        }
    }

    /// A keyword that isn't followed in a schema whose form is a type, or several.
    fn unfollowed_of_types(
        self,
        schema: &Map<String, Value>,
        has: impl Fn(&str) -> bool,
    ) -> Option<&'static str> {
        if let Some(keyword) = OF_ALL.into_iter().find(|keyword| has(keyword)) {
            return Some(keyword);
        }
        let mut types = types(schema);
        if types.is_empty() {
            types.extend(self.inferred_type(schema));
        }
        if types.is_empty() {
            // Any value at all is accepted then.
            return OF_TYPES.iter().flat_map(|(_, keywords)| *keywords).copied().find(|keyword| has(keyword));
        }
        types.into_iter().find_map(|name| {
            let of = if name == "integer" { "number" } else { name };
            let keywords =
                OF_TYPES.iter().filter(|(kind, _)| *kind == of).flat_map(|(_, keywords)| *keywords);
            keywords.copied().find(|keyword| has(keyword) && !self.follows(name, keyword, schema))
        })
    }

    /// Type that the compiler takes a schema without `type` for, by its keywords.
    fn inferred_type(self, schema: &Map<String, Value>) -> Option<&'static str> {
        let any = |keywords: &[&str]| keywords.iter().any(|keyword| schema.contains_key(*keyword));
        if any(&["properties"])
            || schema.get("additionalProperties").is_some_and(|value| *value != Value::Bool(true))
        {
            Some("object")
        } else if any(&["items", "prefixItems"]) {
            Some("array")
        } else if self == Self::LlamaCpp && any(&["pattern", "format", "minLength", "maxLength"]) {
            Some("string")
        } else {
            None
        }
    }

    /// Whether the compiler follows a keyword in a schema of type `name`.
    fn follows(self, name: &str, keyword: &str, schema: &Map<String, Value>) -> bool {
        let has = |keyword: &str| schema.contains_key(keyword);
        match keyword {
            // Of two lower or upper bounds only one is looked at.
            "minimum" | "maximum" => name == "integer" || self == Self::Xgrammar,
            "exclusiveMinimum" => !has("minimum") && (name == "integer" || self == Self::Xgrammar),
            "exclusiveMaximum" => !has("maximum") && (name == "integer" || self == Self::Xgrammar),
            // Of pattern, format and length only one is looked at.
            "pattern" if self == Self::LlamaCpp => schema[keyword].as_str().is_some_and(is_translatable),
            "pattern" => !has("format"),
            "format" if self == Self::LlamaCpp => {
                !has("pattern")
                    && schema[keyword].as_str().is_some_and(|format| LLAMACPP_FORMATS.contains(&format))
            }
            "format" => schema[keyword].as_str().is_some_and(|format| XGRAMMAR_FORMATS.contains(&format)),
            "minLength" | "maxLength" => !has("pattern") && !has("format"),
            // llama.cpp reads a list of items as an array of exactly these.
            "items" if self == Self::LlamaCpp => !has("prefixItems"),
            "minItems" | "maxItems" if self == Self::LlamaCpp => {
                !has("prefixItems") && !schema.get("items").is_some_and(Value::is_array)
            }
            "items" | "prefixItems" | "minItems" | "maxItems" | "properties" | "additionalProperties" => true,
            "required" => {
                let is_declared = |name: &Value| {
                    name.as_str().is_some_and(|name| {
                        schema.get("properties").is_some_and(|all| all.get(name).is_some())
                    })
                };
                schema[keyword].as_array().is_some_and(|names| names.iter().all(is_declared))
            }
            _ => false,
        }
    }
}

/// Whether a keyword with this value excludes any value at all.
fn restricts(keyword: &str, value: &Value) -> bool {
    match (keyword, value) {
        ("uniqueItems", Value::Bool(restricts)) => *restricts,
        (
            "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "items",
            Value::Bool(true),
        ) => false,
        ("minItems" | "minLength" | "minProperties", value) => value.as_u64() != Some(0),
        ("required", Value::Array(names)) => !names.is_empty(),
        _ => true,
    }
}

/// Types that a schema names.
fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number"
                || name == "integer" && number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

#[cfg(test)]
mod tests;
