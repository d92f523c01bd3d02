//! JSON in a format's own notation: the host walks a schema, and the template's rules spell what it
//! finds.
//!
//! Numbers are JSON's. Strings are JSON's, too, unless the template has a rule `string`; then they
//! are raw text that spells no marker of `%value`. Members come in the schema's order. What a
//! notation can't express is an error for strict tools; other tools may have any arguments then, as
//! in JSON.

mod leaves;
mod members;

use std::collections::HashMap;

use crate::lark::{ANNOTATIONS, Callable, Forbidden, Lark, ParameterList};
use serde_json::{Map, Value};

use crate::template::GrammarTemplate;

/// Deepest nesting of a schema, references followed.
const DEPTH: usize = 64;
/// Most rules of one tool's schema.
const RULES: usize = 4096;
/// Keywords that settle nothing about a value where they stand.
const ASIDE: [&str; 3] = ["$defs", "definitions", "$schema"];
/// Keywords of objects, of lists, and those of text that raw strings can't follow.
const OBJECT: [&str; 3] = ["properties", "required", "additionalProperties"];
const LIST: [&str; 3] = ["items", "minItems", "maxItems"];
const TEXT: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
const NUMBER: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const TYPES: [&str; 6] = ["string", "number", "boolean", "null", "array", "object"];

/// A writer of values of one tool.
pub(super) struct Notation<'a, 'l> {
    template: &'a GrammarTemplate,
    lark: &'l mut Lark,
    /// Beginning of the names of its rules.
    prefix: String,
    count: usize,
    /// Rules of definitions, by reference: definitions may mean themselves.
    definitions: HashMap<String, String>,
    root: Value,
    forbidden: Forbidden,
    /// The rule of any value, once it is needed.
    any: Option<String>,
}

type Members = Map<String, Value>;

impl<'a, 'l> Notation<'a, 'l> {
    pub(super) fn new(
        template: &'a GrammarTemplate,
        lark: &'l mut Lark,
        prefix: String,
    ) -> Result<Self, String> {
        let forbidden = lark.forbidden(template.directives.value.iter().flatten().copied())?;
        let (count, definitions, root, any) = (0, HashMap::new(), Value::Null, None);
        Ok(Self { template, lark, prefix, count, definitions, root, forbidden, any })
    }

    /// The arguments of a call as one object.
    ///
    /// # Errors
    /// The tool is strict, and its schema can't be followed.
    pub(super) fn arguments(mut self, tool: &Callable<'_>) -> Result<String, String> {
        let members = self.members_by(tool, "pair")?;
        self.object(members)
    }

    /// The arguments of a call as members without an object around them, by the rule `parameter`.
    ///
    /// # Errors
    /// Those of [`Self::arguments`].
    pub(super) fn parameters(mut self, tool: &Callable<'_>) -> Result<ParameterList, String> {
        let rule = if self.template.rule("parameter").is_some() { "parameter" } else { "pair" };
        self.members_by(tool, rule)
    }

    /// Lark expression of a value.
    fn value(&mut self, schema: &Value, depth: usize) -> Result<String, String> {
        if depth > DEPTH {
            return Err(format!("it is nested more than {DEPTH} deep"));
        }
        match schema {
            Value::Bool(true) => self.any(),
            Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
                Some(target) => self.reference(members, target, depth),
                None => self.described(members, depth),
            },
            _ => Err("a schema that allows nothing can't be followed in this format".into()),
        }
    }

    fn described(&mut self, members: &Members, depth: usize) -> Result<String, String> {
        let listed = match (members.get("enum"), members.get("const")) {
            (Some(Value::Array(values)), None) => Some(values.clone()),
            (None, Some(value)) => Some(vec![value.clone()]),
            _ => None,
        };
        if let Some(values) = listed {
            known(members, &["enum", "const"])?;
            let values: Vec<Value> = values.into_iter().filter(|value| is_of_type(value, members)).collect();
            return self.listed(&values);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(parts) =
                members.get(keyword).and_then(Value::as_array).filter(|parts| !parts.is_empty())
            {
                known(members, &[keyword])?;
                if members.get("type").is_some_and(|types| !parts.iter().all(|part| is_within(part, types))) {
                    return Err(format!("`type` beside `{keyword}` can't be followed in this format"));
                }
                if keyword == "oneOf" && !are_apart(parts) {
                    return Err(
                        "`oneOf` of schemas that may hold at once can't be followed in this format".into()
                    );
                }
                let all: Result<Vec<_>, _> = parts.iter().map(|part| self.value(part, depth + 1)).collect();
                return self.rule(&all?.join(" | "));
            }
        }
        let types: Vec<&str> = match members.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ if members.keys().all(|key| is_aside(key)) => return self.any(),
            // What a keyword says of one type leaves the others free.
            _ => TYPES.to_vec(),
        };
        let all_keywords = [&OBJECT[..], &LIST, &TEXT, &NUMBER].concat();
        known(members, &all_keywords)?;
        let all: Result<Vec<_>, _> = types.iter().map(|one| self.typed(one, members, depth)).collect();
        let all = all?;
        if all.len() == 1 { Ok(all.concat()) } else { self.rule(&all.join(" | ")) }
    }

    /// A value of this type.
    fn typed(&mut self, kind: &str, members: &Members, depth: usize) -> Result<String, String> {
        let of = |keywords: &[&str]| -> Members {
            let kept = members.iter().filter(|(key, _)| keywords.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        match kind {
            "object" => {
                let object = self.members(&of(&OBJECT), "pair", depth)?;
                let object = self.object(object)?;
                self.rule(&object)
            }
            "array" => self.list(&of(&LIST), depth),
            "string" => self.string(of(&TEXT)),
            "integer" | "number" => {
                let mut number = of(&NUMBER);
                if number.is_empty() {
                    return Ok(if kind == "integer" { "INTEGER" } else { "NUMBER" }.into());
                }
                number.insert("type".into(), kind.into());
                self.json(Value::Object(number))
            }
            "boolean" => Ok(format!("({} | {})", self.word("true"), self.word("false"))),
            "null" => Ok(self.word("null")),
            other => Err(format!("the type {other:?} can't be followed in this format")),
        }
    }

    /// Any value.
    fn any(&mut self) -> Result<String, String> {
        if let Some(any) = &self.any {
            return Ok(any.clone());
        }
        let name = self.new_rule()?;
        self.any = Some(name.clone());
        let types =
            TYPES.iter().map(|kind| self.typed(kind, &Members::new(), 0)).collect::<Result<Vec<_>, _>>()?;
        self.lark.rule(&name, &types.join(" | "));
        Ok(name)
    }

    fn reference(&mut self, members: &Members, target: &str, depth: usize) -> Result<String, String> {
        known(members, &["$ref"])?;
        let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).cloned();
        let found = found.ok_or_else(|| format!("the reference {target:?} can't be followed"))?;
        if members.get("type").is_some_and(|types| !is_within(&found, types)) {
            return Err("`type` beside `$ref` can't be followed in this format".into());
        }
        if let Some(rule) = self.definitions.get(target) {
            return Ok(rule.clone());
        }
        let name = self.new_rule()?;
        self.definitions.insert(target.to_owned(), name.clone());
        let body = self.value(&found, depth + 1)?;
        self.lark.rule(&name, &body);
        Ok(name)
    }

    /// Defines a rule, so that expressions stay short.
    fn rule(&mut self, body: &str) -> Result<String, String> {
        let name = self.new_rule()?;
        self.lark.rule(&name, body);
        Ok(name)
    }

    fn new_rule(&mut self) -> Result<String, String> {
        self.count += 1;
        self.lark.check_size(0)?;
        if self.count > RULES {
            return Err("the schema is too large to be followed in this format".into());
        }
        Ok(format!("{}_value_{}", self.prefix, self.count))
    }
}

/// Checks that a schema has no keywords but these and such as say nothing.
fn known(members: &Members, keywords: &[&str]) -> Result<(), String> {
    let is_known = |key: &str| key == "type" || keywords.contains(&key) || is_aside(key);
    match members.keys().find(|key| !is_known(key)) {
        Some(keyword) => Err(format!("`{keyword}` can't be followed in this format")),
        None => Ok(()),
    }
}

fn is_aside(key: &str) -> bool {
    ANNOTATIONS.contains(&key) || ASIDE.contains(&key)
}

/// The names in the value of `type`.
fn type_names(types: &Value) -> Vec<&str> {
    let several = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
    several.iter().filter_map(Value::as_str).collect()
}

/// Whether a value is of a type that these keywords name, if they name one.
fn is_of_type(value: &Value, members: &Members) -> bool {
    let is = |name: &str| match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(number) => {
            name == "number"
                || (name == "integer" && number.as_f64().is_some_and(|number| number.fract() == 0.0))
        }
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    };
    members.get("type").is_none_or(|types| type_names(types).into_iter().any(is))
}

/// Whether a schema names types, and none but these.
fn is_within(part: &Value, types: &Value) -> bool {
    let types = type_names(types);
    let is_in = |name: &&str| types.contains(name) || (*name == "integer" && types.contains(&"number"));
    part.get("type").is_some_and(|own| type_names(own).iter().all(is_in))
}

/// Whether no value can satisfy two of these schemas: each names types, and no type twice.
fn are_apart(parts: &[Value]) -> bool {
    let types = |part: &Value| match part.get("type") {
        Some(Value::String(one)) => Some(vec![one.clone()]),
        Some(Value::Array(several)) => several.iter().map(|one| Some(one.as_str()?.to_owned())).collect(),
        _ => None,
    };
    let all: Option<Vec<Vec<String>>> = parts.iter().map(types).collect();
    let Some(mut all) = all.map(|all| all.concat()) else { return false };
    all.iter_mut().filter(|one| *one == "integer").for_each(|one| "number".clone_into(one));
    all.sort();
    all.windows(2).all(|pair| pair[0] != pair[1])
}
