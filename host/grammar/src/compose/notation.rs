//! JSON in a format's own notation: the host walks a schema, and the template's rules spell what it finds.
//!
//! Numbers are JSON's. Strings are JSON's, too, unless the template has a rule `string`; then they are raw text that spells no marker of
//! `%value`. Members come in the schema's order. What a notation can't express is an error for strict tools; other tools may have any
//! arguments then, as in JSON.

use std::collections::HashMap;

use parser_sdk::grammar::{
    ANNOTATIONS, ArgumentsRule, Callable, Follow, Forbidden, Lark, ParameterList, json, literal, prepared, without,
};
use serde_json::{Map, Value, json};

use super::call::{filled, joined};
use crate::template::{Template, Word};

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
    template: &'a Template,
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
    pub(super) fn new(template: &'a Template, lark: &'l mut Lark, prefix: String) -> Result<Self, String> {
        let forbidden = lark.forbidden(template.directives.value.iter().flatten().copied())?;
        let (count, definitions, root, any) = (0, HashMap::new(), Value::Null, None);
        Ok(Self { template, lark, prefix, count, definitions, root, forbidden, any })
    }

    /// The arguments of a call as one object.
    ///
    /// # Errors
    /// The tool is strict, and its schema can't be followed.
    pub(super) fn arguments(mut self, tool: &Callable<'_>) -> Result<String, String> {
        let members = self.members_of(tool)?;
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

    fn members_of(&mut self, tool: &Callable<'_>) -> Result<ParameterList, String> {
        self.members_by(tool, "pair")
    }

    fn members_by(&mut self, tool: &Callable<'_>, rule: &str) -> Result<ParameterList, String> {
        let input = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
        let (schema, is_strict) = match &tool.arguments {
            ArgumentsRule::Schema { schema, strict } => (schema.clone(), *strict),
            ArgumentsRule::Any => (json!({"type": "object"}), true),
            ArgumentsRule::Text(_) => (input, true),
        };
        self.root = schema.clone();
        let followed = self.resolved(&schema).and_then(|members| self.members(&members, rule, 0));
        match followed {
            Err(error) if is_strict => Err(format!("tool {:?}: {error}", tool.tool.name)),
            Err(_) => self.members(&Members::new(), rule, 0),
            followed => followed,
        }
    }

    /// The members of an object.
    fn members(&mut self, object: &Members, rule: &str, depth: usize) -> Result<ParameterList, String> {
        self.known(object, &OBJECT)?;
        let none = Members::new();
        let properties = object.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required = object.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        if let Some(name) = required.iter().find(|name| !properties.contains_key(**name)) {
            return Err(format!("{name:?} is required and not described"));
        }
        if properties.is_empty() {
            return match object.get("additionalProperties") {
                Some(Value::Bool(false)) => Ok(ParameterList::Declared(Vec::new())),
                others => {
                    let value = self.value(others.unwrap_or(&Value::Bool(true)), depth + 1)?;
                    let (key, json_key) = self.any_key();
                    Ok(ParameterList::Any(self.pair(rule, key, json_key, value)))
                }
            };
        }
        let mut all = Vec::new();
        for (name, schema) in properties {
            let member = self.member(rule, name, schema, depth + 1);
            let member = member.map_err(|error| format!("property {name:?}: {error}"))?;
            all.push((member, required.contains(&name.as_str())));
        }
        Ok(ParameterList::Declared(all))
    }

    fn member(&mut self, rule: &str, name: &str, schema: &Value, depth: usize) -> Result<String, String> {
        let is_bare = self.template.has(rule, "key");
        let fits = self.template.directives.key.as_ref().map_or_else(|| is_plain_key(name), |keys| keys.allow(name));
        if (is_bare && !fits) || !self.forbidden.allows(name) {
            return Err("the name can't be written in this format".into());
        }
        let value = self.value(schema, depth)?;
        let json_key = Word::literal(&Value::from(name).to_string());
        Ok(self.pair(rule, Word::literal(name), json_key, value))
    }

    fn pair(&self, rule: &str, key: Word, json_key: Word, value: String) -> String {
        let holes = [("key", key), ("json_key", json_key), ("value", Word::Other(value))];
        filled(self.template, self.lark, rule, &holes)
    }

    /// Any key: bare, and as a JSON string.
    fn any_key(&self) -> (Word, Word) {
        let bare = match &self.template.directives.key {
            Some(keys) => format!("/(?:{}){{1,{}}}/", keys.class, keys.most),
            None => "key".to_owned(),
        };
        (Word::Other(bare), Word::Other(self.json(json!({"type": "string"})).unwrap_or_default()))
    }

    /// Lark expression of an object with these members.
    fn object(&mut self, members: ParameterList) -> Result<String, String> {
        let prefix = self.new_rule()?;
        let comma = self.comma();
        let members = joined(members, Some(&comma), self.lark, &prefix);
        Ok(self.fill("object", "members", members))
    }

    fn comma(&self) -> String {
        match self.template.rule("comma") {
            Some(_) => filled(self.template, self.lark, "comma", &[]),
            None => literal(","),
        }
    }

    fn fill(&self, rule: &str, hole: &str, with: String) -> String {
        filled(self.template, self.lark, rule, &[(hole, Word::Other(with))])
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
            self.known(members, &["enum", "const"])?;
            return self.listed(&values);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(parts) = members.get(keyword).and_then(Value::as_array).filter(|parts| !parts.is_empty()) {
                self.known(members, &[keyword])?;
                if keyword == "oneOf" && !are_apart(parts) {
                    return Err("`oneOf` of schemas that may hold at once can't be followed in this format".into());
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
        self.known(members, &all_keywords)?;
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

    fn list(&mut self, list: &Members, depth: usize) -> Result<String, String> {
        let count = |key: &str| match list.get(key) {
            None => Ok(None),
            Some(count) => count.as_u64().map(Some).ok_or_else(|| format!("`{key}` is no count")),
        };
        let (least, most) = (count("minItems")?.unwrap_or(0), count("maxItems")?);
        let items = list.get("items").unwrap_or(&Value::Bool(true));
        let (item, comma) = (self.value(items, depth + 1)?, self.comma());
        let rest = match (least.saturating_sub(1), most) {
            (0, None) => "*".to_owned(),
            (least, None) => format!("{{{least},}}"),
            (_, Some(0)) => String::new(),
            (least, Some(most)) => format!("{{{least},{}}}", most - 1),
        };
        let items = match (least, most) {
            (_, Some(most)) if most < least => return Err("a list of fewer items than it needs".into()),
            (_, Some(0)) => literal(""),
            (_, Some(1)) => item.clone(),
            _ => format!("{item} ({comma} {item}){rest}"),
        };
        let items = if least == 0 && most != Some(0) { format!("({items})?") } else { items };
        let list = self.fill("list", "items", items);
        self.rule(&list)
    }

    fn string(&mut self, mut string: Members) -> Result<String, String> {
        if self.template.rule("string").is_none() {
            string.insert("type".into(), "string".into());
            return self.json(Value::Object(string));
        }
        match string.keys().next() {
            Some(keyword) => Err(format!("`{keyword}` of a string can't be followed in this format")),
            None => Ok(self.raw_string(Word::Other(self.chars().into()))),
        }
    }

    /// The rule of raw text.
    fn chars(&self) -> &'static str {
        if self.template.directives.value.is_some() { "value" } else { "text" }
    }

    fn raw_string(&self, chars: Word) -> String {
        filled(self.template, self.lark, "string", &[("chars", chars)])
    }

    /// One of these values.
    fn listed(&mut self, values: &[Value]) -> Result<String, String> {
        let all: Result<Vec<String>, String> = values.iter().map(|value| self.exactly(value)).collect();
        self.rule(&all?.join(" | "))
    }

    /// Exactly this value.
    fn exactly(&mut self, value: &Value) -> Result<String, String> {
        let refused = || Err(format!("the value {value} can't be written in this format"));
        Ok(match value {
            Value::Null => self.word("null"),
            Value::Bool(is_true) => self.word(if *is_true { "true" } else { "false" }),
            Value::Number(number) => literal(&number.to_string()),
            Value::String(text) if !self.forbidden.allows(text) => return refused(),
            Value::String(text) if self.template.rule("string").is_some() => self.raw_string(Word::literal(text)),
            Value::String(_) => literal(&value.to_string()),
            Value::Array(_) | Value::Object(_) => return refused(),
        })
    }

    /// A word of JSON, as the template spells it.
    fn word(&self, name: &str) -> String {
        if self.template.rule(name).is_some() { filled(self.template, self.lark, name, &[]) } else { literal(name) }
    }

    /// JSON by this schema, which is part of the notation.
    fn json(&self, schema: Value) -> Result<String, String> {
        Ok(json(&prepared(without(schema, &self.forbidden)?, Follow::Strictly)))
    }

    /// Any value.
    fn any(&mut self) -> Result<String, String> {
        if let Some(any) = &self.any {
            return Ok(any.clone());
        }
        let name = self.new_rule()?;
        self.any = Some(name.clone());
        let types = TYPES.iter().map(|kind| self.typed(kind, &Members::new(), 0)).collect::<Result<Vec<_>, _>>()?;
        self.lark.rule(&name, &types.join(" | "));
        Ok(name)
    }

    fn reference(&mut self, members: &Members, target: &str, depth: usize) -> Result<String, String> {
        self.known(members, &["$ref"])?;
        if let Some(rule) = self.definitions.get(target) {
            return Ok(rule.clone());
        }
        let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).cloned();
        let found = found.ok_or_else(|| format!("the reference {target:?} can't be followed"))?;
        let name = self.new_rule()?;
        self.definitions.insert(target.to_owned(), name.clone());
        let body = self.value(&found, depth + 1)?;
        self.lark.rule(&name, &body);
        Ok(name)
    }

    /// The schema of the arguments itself, or that to which it refers.
    fn resolved(&self, schema: &Value) -> Result<Members, String> {
        let mut members = schema.as_object().cloned().unwrap_or_default();
        for _ in 0..DEPTH {
            let Some(target) = members.get("$ref").and_then(Value::as_str) else {
                members.remove("type");
                return Ok(members);
            };
            self.known(&members, &["$ref", "type"])?;
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            let found = found.and_then(Value::as_object).cloned();
            members = found.ok_or_else(|| format!("the reference {target:?} can't be followed"))?;
        }
        Err("references lead nowhere".into())
    }

    /// Checks that a schema has no keywords but these and such as say nothing.
    fn known(&self, members: &Members, keywords: &[&str]) -> Result<(), String> {
        let is_known = |key: &str| key == "type" || keywords.contains(&key) || is_aside(key);
        match members.keys().find(|key| !is_known(key)) {
            Some(keyword) => Err(format!("`{keyword}` can't be followed in this format")),
            None => Ok(()),
        }
    }

    /// Defines a rule, so that expressions stay short.
    fn rule(&mut self, body: &str) -> Result<String, String> {
        let name = self.new_rule()?;
        self.lark.rule(&name, body);
        Ok(name)
    }

    fn new_rule(&mut self) -> Result<String, String> {
        self.count += 1;
        if self.count > RULES {
            return Err("the schema is too large to be followed in this format".into());
        }
        Ok(format!("{}_value_{}", self.prefix, self.count))
    }
}

fn is_aside(key: &str) -> bool {
    ANNOTATIONS.contains(&key) || ASIDE.contains(&key)
}

/// Whether a key can stand bare where the template doesn't say which can.
fn is_plain_key(name: &str) -> bool {
    let is_in = |char: char| !"<>=".contains(char) && !char.is_whitespace();
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_in)
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
