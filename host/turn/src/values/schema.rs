//! The types that a tool's JSON schema allows its parameters.
//!
//! Schemas are request data: what is too large or nested too deep is read as no schema at all, and
//! looking a parameter up visits a bounded number of subschemas, however they refer to each other.
//! Unknown keywords and broken ones constrain nothing.

use std::borrow::Cow;

use serde_json::Value;

use contract::json_text::nesting;
use contract::{Parameter, Segment, Tool, ToolKind, Types};

/// Largest schema that is read, in bytes.
const BYTES: usize = 256 << 10;
/// Deepest nesting that is read and followed.
const DEPTH: usize = 64;
/// Most subschemas that are visited for one parameter.
const VISITS: usize = 1024;
/// Most parameters of a tool that are listed.
const LISTED: usize = 1024;

/// The schema of a tool's arguments.
#[derive(Debug, Default)]
pub struct Schema {
    root: Option<Value>,
}

impl Schema {
    /// Reads a schema; one that can't be read constrains nothing.
    pub fn parse(json: &str) -> Self {
        let bounded = json.len() <= BYTES && nesting(json) <= DEPTH;
        Self { root: if bounded { serde_json::from_str(json).ok() } else { None } }
    }

    /// Types that the value of parameter `key` may have; string alone where the schema doesn't say.
    pub fn types(&self, key: &str) -> Types {
        self.types_at(&[Segment::Key(key.to_owned())])
    }

    /// Types that the value at this place may have; string alone where the schema doesn't say.
    pub fn types_at(&self, path: &[Segment]) -> Types {
        self.stated_at(path).filter(|types| *types != Types::NONE).unwrap_or(Types::STRING)
    }

    /// Types that the schema says the value of parameter `key` may have: `NONE` if what it says
    /// contradicts itself.
    pub fn stated(&self, key: &str) -> Option<Types> {
        self.stated_at(&[Segment::Key(key.to_owned())])
    }

    fn stated_at(&self, path: &[Segment]) -> Option<Types> {
        let walk = |root| Walk { root, visits: VISITS }.place(root, path);
        self.root.as_ref().and_then(walk)
    }

    /// The parameters that the schema lists, in its order.
    fn parameters(&self) -> Vec<Parameter> {
        let walk = |root| Walk { root, visits: LISTED * 16 }.listed(root, DEPTH);
        self.root.as_ref().map(walk).unwrap_or_default()
    }

    /// Types of the parameters that it doesn't list; none where it allows no others.
    fn others(&self) -> Types {
        let others = self.root.as_ref().and_then(|root| root.get("additionalProperties"));
        if others == Some(&Value::Bool(false)) {
            return Types::NONE;
        }
        let root = self.root.as_ref();
        let types =
            others.zip(root).and_then(|(schema, root)| Walk { root, visits: VISITS }.types(schema, DEPTH));
        types.unwrap_or(Types::STRING)
    }
}

/// What a parser is told of a tool whose arguments have this JSON schema.
pub fn tool(name: &str, kind: ToolKind, schema: &str) -> Tool {
    let read = if kind == ToolKind::Function { Schema::parse(schema) } else { Schema::default() };
    Tool {
        name: name.to_owned(),
        kind,
        parameters: read.parameters(),
        others: read.others(),
        schema: schema.to_owned(),
    }
}

/// A tool that stands for all, where nobody knows which were declared: formats with a markup of
/// their own for calls are read with any name that the model wrote in it, and all values are strings
/// where the format doesn't say more. A format whose calls are told from text by their names alone
/// needs the tools.
pub fn any_tool() -> Tool {
    tool("*", ToolKind::Function, "{}")
}

/// One look-up in a schema, with the number of subschemas that it may still visit.
struct Walk<'a> {
    root: &'a Value,
    visits: usize,
}

impl<'a> Walk<'a> {
    /// The parameters of the objects that `schema` describes: its own, then those of its parts that
    /// it doesn't name.
    fn listed(&mut self, schema: &'a Value, depth: usize) -> Vec<Parameter> {
        let Some(depth) = self.step(depth) else { return Vec::new() };
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut listed = Vec::new();
        for (name, property) in properties.into_iter().flatten().take(LISTED) {
            let types = self.types(property, DEPTH).filter(|types| *types != Types::NONE);
            listed.push(Parameter { name: name.clone(), types: types.unwrap_or(Types::STRING) });
        }
        let own = listed.len();
        let lists = ["allOf", "anyOf", "oneOf"].map(|keyword| list(schema, keyword));
        for part in lists.into_iter().flatten().chain(self.target(schema)) {
            for more in self.listed(part, depth) {
                match listed.iter().position(|known| known.name == more.name) {
                    Some(at) if at >= own => listed[at].types = listed[at].types.or(more.types),
                    None if listed.len() < LISTED => listed.push(more),
                    _ => {}
                }
            }
        }
        listed
    }

    /// The types of the value at `path` of the values that `schema` describes; `None` where
    /// `schema` doesn't say.
    fn place(&mut self, schema: &'a Value, path: &[Segment]) -> Option<Types> {
        match path {
            [] => None,
            [Segment::Key(key)] => self.parameter(schema, key, DEPTH),
            [Segment::Item(_) | Segment::Element { .. }] => {
                let items = self.inner(schema, &path[0], DEPTH)?;
                self.types(items, DEPTH)
            }
            [first, rest @ ..] => {
                let inner = self.inner(schema, first, DEPTH)?;
                self.place(inner, rest)
            }
        }
    }

    /// The first subschema that describes the values behind `segment` of the values that `schema`
    /// describes.
    fn inner(&mut self, schema: &'a Value, segment: &Segment, depth: usize) -> Option<&'a Value> {
        let depth = self.step(depth)?;
        let own = match segment {
            Segment::Key(key) => schema.get("properties").and_then(|properties| properties.get(key)),
            // Steps that may be either were decided before.
            Segment::Item(at) | Segment::Element { index: at, .. } => {
                schema.get("prefixItems").and_then(|items| items.get(*at as usize))
            }
        };
        if own.is_some() {
            return own;
        }
        let lists = ["allOf", "anyOf", "oneOf"].map(|keyword| list(schema, keyword));
        for part in lists.into_iter().flatten().chain(self.target(schema)) {
            if let Some(found) = self.inner(part, segment, depth) {
                return Some(found);
            }
        }
        let rest = if matches!(segment, Segment::Key(_)) { "additionalProperties" } else { "items" };
        schema.get(rest).filter(|rest| rest.is_object())
    }

    /// The types of property `key` of the objects that `schema` describes; `None` where `schema`
    /// doesn't say.
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
        and(schema.get("const").map(type_of));
        and(schema.get("enum").and_then(Value::as_array).map(|values| any(values.iter().map(type_of))));
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
        let pointer = percent_decoded(schema.get("$ref")?.as_str()?.strip_prefix('#')?)?;
        self.root.pointer(&pointer)
    }

    fn step(&mut self, depth: usize) -> Option<usize> {
        self.visits = self.visits.checked_sub(1)?;
        depth.checked_sub(1)
    }
}

/// The fragment of a URI with its `%xx` decoded; `None` if that isn't UTF-8.
fn percent_decoded(fragment: &str) -> Option<Cow<'_, str>> {
    let mut parts = fragment.split('%');
    let first = parts.next()?;
    if first.len() == fragment.len() {
        return Some(fragment.into());
    }
    let mut decoded = first.as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                decoded.extend(&part.as_bytes()[2..]);
            }
            // A lone sign, which some generators leave as it is.
            None => decoded.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

/// Types that the keyword `type` names, by one name or a list of names.
fn named(names: Option<&Value>) -> Option<Types> {
    let types = match names? {
        Value::String(name) => named_type(name),
        Value::Array(names) => any(names.iter().filter_map(Value::as_str).map(named_type)),
        _ => Types::NONE,
    };
    (types != Types::NONE).then_some(types)
}

/// The type of this name, JSON's or Python's (`float`, `List[str]`): tools that are described from
/// code use those. None for an unknown name.
fn named_type(name: &str) -> Types {
    let name = name.split('[').next().unwrap_or(name).trim().to_ascii_lowercase();
    match name.as_str() {
        "null" | "none" => Types::NULL,
        "integer" | "int" | "long" => Types::INTEGER,
        "number" | "float" | "double" | "decimal" => Types::NUMBER,
        "boolean" | "bool" => Types::BOOLEAN,
        "object" | "dict" | "map" => Types::OBJECT,
        "array" | "list" | "tuple" | "set" => Types::ARRAY,
        "string" | "str" => Types::STRING,
        _ => Types::NONE,
    }
}

/// The type of this value.
pub fn type_of(value: &Value) -> Types {
    match value {
        Value::Null => Types::NULL,
        Value::Bool(_) => Types::BOOLEAN,
        Value::Number(number) if number.is_f64() => Types::NUMBER,
        Value::Number(_) => Types::INTEGER,
        Value::String(_) => Types::STRING,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
    }
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
