//! Lists, strings, listed values, and the words of JSON.

use crate::lark::{Follow, json, literal, prepared, without};
use serde_json::{Number, Value};

use super::{Members, Notation};
use crate::compose::call::filled;
use crate::template::Word;

impl Notation<'_, '_> {
    pub(super) fn list(&mut self, list: &Members, depth: usize) -> Result<String, String> {
        let count = |key: &str| match list.get(key) {
            None => Ok(None),
            Some(count) => count.as_u64().map(Some).ok_or_else(|| format!("`{key}` is no count")),
        };
        let (least, most) = (count("minItems")?.unwrap_or(0), count("maxItems")?);
        let items = list.get("items").unwrap_or(&Value::Bool(true));
        let (item, comma) = (self.item(items, depth + 1)?, self.comma());
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

    fn item(&mut self, schema: &Value, depth: usize) -> Result<String, String> {
        let value = self.value(schema, depth)?;
        Ok(if self.template.rule("item").is_some() { self.fill("item", "value", value) } else { value })
    }

    pub(super) fn string(&mut self, mut string: Members) -> Result<String, String> {
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
    pub(super) fn chars(&self) -> &'static str {
        if self.template.directives.value.is_some() { "value" } else { "text" }
    }

    pub(super) fn raw_string(&self, chars: Word) -> String {
        filled(self.template, self.lark, "string", &[("chars", chars)])
    }

    /// One of these values.
    pub(super) fn listed(&mut self, values: &[Value]) -> Result<String, String> {
        if values.is_empty() {
            return Err("a schema that allows nothing can't be followed in this format".into());
        }
        let all: Result<Vec<String>, String> = values.iter().map(|value| self.exactly(value)).collect();
        self.rule(&all?.join(" | "))
    }

    /// Exactly this value.
    pub(super) fn exactly(&mut self, value: &Value) -> Result<String, String> {
        let refused = || Err(format!("the value {value} can't be written in this format"));
        Ok(match value {
            Value::Null => self.word("null"),
            Value::Bool(is_true) => self.word(if *is_true { "true" } else { "false" }),
            Value::Number(number) => spellings(number),
            Value::String(text) if !self.forbidden.allows(text) => return refused(),
            Value::String(text) if self.template.rule("string").is_some() => {
                self.raw_string(Word::literal(text))
            }
            Value::String(_) => literal(&value.to_string()),
            Value::Array(_) | Value::Object(_) => return refused(),
        })
    }

    /// A word of JSON, as the template spells it.
    pub(super) fn word(&self, name: &str) -> String {
        if self.template.rule(name).is_some() {
            filled(self.template, self.lark, name, &[])
        } else {
            literal(name)
        }
    }

    /// JSON by this schema, which is part of the notation.
    pub(super) fn json(&self, schema: Value) -> Result<String, String> {
        Ok(json(&prepared(without(schema, &self.forbidden)?, Follow::Strictly)))
    }

    pub(super) fn fill(&self, rule: &str, hole: &str, with: String) -> String {
        filled(self.template, self.lark, rule, &[(hole, Word::Other(with))])
    }

    pub(super) fn comma(&self) -> String {
        match self.template.rule("comma") {
            Some(_) => filled(self.template, self.lark, "comma", &[]),
            None => literal(","),
        }
    }
}

/// A number as it is given; a whole one with a decimal point also without it.
fn spellings(number: &Number) -> String {
    /// From here on not every whole number has a text of its own.
    const LARGE: f64 = 9_007_199_254_740_992.0;
    let given = literal(&number.to_string());
    match number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0 && value.abs() < LARGE) {
        Some(whole) => format!("({given} | {})", literal(&format!("{whole:.0}"))),
        None => given,
    }
}
