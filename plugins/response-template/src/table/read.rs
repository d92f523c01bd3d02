//! Reads a table from its JSON. A construct that can't be decided while text arrives is refused, by name.

use parser_sdk::Trim;
use serde_json::Value;

use super::{Delimiter, Field, Kind, Pattern, Piece, Table, parse};

/// Keys that a table, a field (`FIELD`) and the `content_args` of a field (`ARGS`) may have.
const TABLE: [&str; 5] = ["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"];
const FIELD: [&str; 11] = [
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];
const ARGS: [&str; 6] =
    ["strip", "allow_non_json", "tag_pattern", "value_parser", "unquoted_keys", "string_delims"];

/// An object of the table's JSON.
pub(super) struct JsonObject<'a>(pub(super) &'a Value);

impl<'a> JsonObject<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// The string under `key`; `None` if the key is missing or null.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        let text = |value: &'a Value| value.as_str().ok_or_else(|| format!("{key} must be a string"));
        self.get(key).map(text).transpose()
    }

    /// The string or the list of strings under `key`; `None` if the key is missing or null.
    fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>, String> {
        let Some(Value::Array(values)) = self.get(key) else {
            return Ok(self.text(key)?.map(|text| vec![text]));
        };
        let texts: Option<_> = values.iter().map(Value::as_str).collect();
        texts.map(Some).ok_or_else(|| format!("{key} must hold strings"))
    }

    pub(super) fn is_set(&self, key: &str) -> bool {
        self.get(key) == Some(&Value::Bool(true))
    }
}

/// Checks that `value` is an object that has no keys but these.
fn known(value: &Value, keys: &[&str]) -> Result<(), String> {
    let object = value.as_object().ok_or("an object was expected")?;
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown field `{key}`")),
        None => Ok(()),
    }
}

impl Table {
    /// Reads the table from the parser's option `response_template`, which is JSON.
    ///
    /// # Errors
    /// One line that names the construct that can't be decided while text arrives.
    pub(crate) fn read(options: &[(String, String)]) -> Result<Self, String> {
        let option = |name| options.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        match (option("response_template"), option("response_schema")) {
            (Some(json), _) => Self::of(json).map_err(|error| format!("response_template: {error}")),
            (None, Some(_)) => {
                Err("response_schema: x-regex needs the whole answer, give a response_template".into())
            }
            (None, None) => {
                Err("response_template is missing, set it to that of tokenizer_config.json".into())
            }
        }
    }

    fn of(text: &str) -> Result<Self, String> {
        let written = serde_json::from_str::<Value>(text).map_err(|error| error.to_string())?;
        known(&written, &TABLE)?;
        if let Some(version) = written.get("version").filter(|version| **version != 1) {
            return Err(format!("version {version} isn't known, only 1 is"));
        }
        let mut table = Self { trim: Trim { reasoning: true, content: true }, ..Self::default() };
        let fields = written.get("fields").and_then(Value::as_object).ok_or("fields are missing")?;
        for (name, field) in fields {
            table.field(name, field).map_err(|error| format!("field '{name}': {error}"))?;
        }
        table.anchor(&JsonObject(&written))?;
        Ok(table)
    }

    fn field(&mut self, name: &str, field: &Value) -> Result<(), String> {
        known(field, &FIELD)?;
        let written = JsonObject(field);
        let args = JsonObject(written.get("content_args").unwrap_or(&Value::Null));
        if !args.0.is_null() {
            known(args.0, &ARGS)?;
        }
        let (open, begins) = self.delimiters(&written, "open", "open_pattern")?;
        let (close, _) = self.delimiters(&written, "close", "close_pattern")?;
        let strip = args.get("strip") != Some(&Value::Bool(false));
        let (content, transform) = (written.text("content")?.unwrap_or("text"), written.get("transform"));
        let kind = match (name, content, transform) {
            ("content", "text", None) => {
                self.trim.content = strip;
                Kind::Content
            }
            ("thinking" | "reasoning" | "reasoning_content", "text", None) => {
                self.trim.reasoning = strip;
                Kind::Reasoning
            }
            ("tool_calls", "json" | "xml-inline", _) if begins || open.is_empty() => {
                return Err("calls need an open of their own".into());
            }
            ("tool_calls", "json" | "xml-inline", Some(transform)) => {
                self.calls(transform, written.is_set("transform_each"), content == "json", &args, &open)?
            }
            ("tool_calls", "json" | "xml-inline", None) => {
                return Err("a transform to function is missing".into());
            }
            ("content" | "thinking" | "reasoning" | "reasoning_content" | "tool_calls", content, _) => {
                return Err(format!("content '{content}', or its transform, can't be streamed"));
            }
            _ => {
                return Err(
                    "only content, reasoning_content, thinking and tool_calls have a place in an answer"
                        .into(),
                );
            }
        };
        let index = Some(self.fields.len());
        if begins {
            self.first = index;
        } else if open.is_empty() && std::mem::replace(&mut self.implicit, index).is_some() {
            return Err("another field has no open either".into());
        }
        self.fields.push(Field { kind, open, close, repeats: written.is_set("repeats") });
        Ok(())
    }

    /// Reads the start anchor. A pattern that `parse` refuses is an error only in [`Table::constrain`].
    fn anchor(&mut self, written: &JsonObject<'_>) -> Result<(), String> {
        let anchors = match (written.texts("start_anchor")?, written.text("start_anchor_pattern")?) {
            (Some(texts), _) => {
                Ok(texts.iter().map(|text| Pattern(vec![Piece::Literal((*text).to_owned())])).collect())
            }
            (None, Some(regex)) => parse(regex),
            (None, None) => Ok(Vec::new()),
        };
        self.has_unsupported_anchor = anchors.is_err();
        for anchor in anchors.unwrap_or_default() {
            match anchor.0.first() {
                Some(Piece::Literal(text)) if text.starts_with(['<', '[']) => {
                    self.anchors.push(self.markers.delimiter(anchor.0)?);
                }
                _ => {
                    self.markers.tokens(&anchor);
                    self.plain_anchors.push(anchor);
                }
            }
        }
        Ok(())
    }

    /// The delimiters that open or close a field, and whether the beginning of the message is one of them.
    fn delimiters(
        &mut self,
        field: &JsonObject<'_>,
        literal: &str,
        pattern: &str,
    ) -> Result<(Vec<Delimiter>, bool), String> {
        match (field.texts(literal)?, field.text(pattern)?) {
            (Some(_), Some(_)) => Err(format!("give either {literal} or {pattern}")),
            (None, Some(regex)) => self.markers.regex(regex).map_err(|error| format!("{pattern}: {error}")),
            (texts, None) => {
                let texts = texts.unwrap_or_default();
                let delimiters =
                    texts.iter().map(|text| self.markers.literal(text)).collect::<Result<_, _>>();
                Ok((delimiters?, false))
            }
        }
    }
}
