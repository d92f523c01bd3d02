//! Objects: their members by a schema, and the arguments of a call.

use crate::lark::{ArgumentsRule, Callable, DeclaredParameter, ParameterList, may_be};
use serde_json::{Value, json};

use super::{DEPTH, Members, Notation, OBJECT, known};
use crate::compose::call::{filled, joined};
use crate::template::Word;

impl Notation<'_, '_> {
    pub(super) fn members_by(&mut self, tool: &Callable<'_>, rule: &str) -> Result<ParameterList, String> {
        if let ArgumentsRule::Keys(keys) = &tool.arguments
            && let Ok(members) = self.any_of(keys, rule)
        {
            return Ok(members);
        }
        let input =
            json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
        let (schema, is_strict) = match &tool.arguments {
            ArgumentsRule::Schema { schema, strict } => (schema.clone(), *strict),
            ArgumentsRule::Any | ArgumentsRule::Keys(_) => (json!({"type": "object"}), true),
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

    /// Members of these keys, with any values, in any order.
    fn any_of(&mut self, keys: &[String], rule: &str) -> Result<ParameterList, String> {
        let members = keys.iter().map(|key| self.member(rule, key, &Value::Bool(true), 1));
        Ok(ParameterList::free(members.collect::<Result<_, _>>()?))
    }

    /// The members of an object.
    pub(super) fn members(
        &mut self,
        object: &Members,
        rule: &str,
        depth: usize,
    ) -> Result<ParameterList, String> {
        known(object, &OBJECT)?;
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
            let written = member.map_err(|error| format!("property {name:?}: {error}"))?;
            all.push(DeclaredParameter { written, is_required: required.contains(&name.as_str()) });
        }
        Ok(ParameterList::Declared(all))
    }

    fn member(&mut self, rule: &str, name: &str, schema: &Value, depth: usize) -> Result<String, String> {
        let is_bare = self.template.has(rule, "key");
        let fits =
            self.template.directives.key.as_ref().map_or_else(|| is_plain_key(name), |keys| keys.allow(name));
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
            Some(keys) => format!("/{}/", keys.expression().replace("\\/", "/").replace('/', "\\/")),
            None => "key".to_owned(),
        };
        (Word::Other(bare), Word::Other(self.json(json!({"type": "string"})).unwrap_or_default()))
    }

    /// Lark expression of an object with these members.
    pub(super) fn object(&mut self, members: ParameterList) -> Result<String, String> {
        let prefix = self.new_rule()?;
        let comma = self.comma();
        let members = joined(members, Some(&comma), self.lark, &prefix);
        Ok(self.fill("object", "members", members))
    }

    /// The schema of the arguments itself, or that to which it refers.
    fn resolved(&self, schema: &Value) -> Result<Members, String> {
        let mut members = schema.as_object().cloned().unwrap_or_default();
        for _ in 0..DEPTH {
            let Some(target) = members.get("$ref").and_then(Value::as_str) else {
                if !may_be(&members, "object") {
                    return Err("its schema allows no object".into());
                }
                members.remove("type");
                return Ok(members);
            };
            known(&members, &["$ref", "type"])?;
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            let found = found.and_then(Value::as_object).cloned();
            members = found.ok_or_else(|| format!("the reference {target:?} can't be followed"))?;
        }
        Err("references lead nowhere".into())
    }
}

/// Whether a key can stand bare where the template doesn't say which can.
fn is_plain_key(name: &str) -> bool {
    let is_in = |char: char| !"<>=".contains(char) && !char.is_whitespace();
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_in)
}
