//! Error of a grammar that can't be followed, in words that the request's author understands.

use serde_json::Value;

/// llguidance's word for a mask without a token.
pub(super) const NO_TOKEN: &str = "NoExtension";
/// Beginning of llguidance's errors about panics of its own, which it catches.
pub(super) const PANIC: &str = "panic: ";

/// Why a grammar isn't followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// It can't be followed.
    #[error(transparent)]
    Refused(RefusedGrammar),
    /// The grammars in use leave no memory for another one.
    #[error("the grammars in use leave no memory for another one")]
    Busy,
    /// The client has left, so it wasn't compiled.
    #[error("the client has left")]
    Left,
}

/// A grammar that can't be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RefusedGrammar {
    reason: String,
    keyword: Option<String>,
}

/// Beginnings of llguidance's messages about schemas that it can't follow, and the keyword at
/// fault. `None`: the message lists the keywords.
const SCHEMA_MESSAGES: [(&str, Option<&str>); 3] = [
    ("Unimplemented keys: ", None),
    ("oneOf constraints are not supported", Some("oneOf")),
    ("Only absolute $ref's", Some("$ref")),
];
/// Keywords whose value is an object of schemas under names that the author chose.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose values are plain data and never schemas.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

impl GrammarError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self::Refused(RefusedGrammar { reason: reason.into(), keyword: None })
    }

    /// Converts llguidance's message. Only its first line is kept: the rest quotes the whole
    /// grammar, which the client doesn't know.
    pub(super) fn of_llguidance(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let said = line.rsplit_once("failed to compile JSON schema: ").map_or(line, |(_, said)| said);
        let known =
            SCHEMA_MESSAGES.iter().find_map(|(begins, keyword)| Some((said.strip_prefix(begins)?, keyword)));
        let keyword = known.and_then(|(rest, keyword)| match keyword {
            Some(keyword) => Some((*keyword).to_owned()),
            None => serde_json::from_str::<Vec<String>>(rest).ok()?.into_iter().next(),
        });
        match keyword {
            None if said.starts_with(PANIC) => Self::new("the compiler of grammars fails at it"),
            None if said.starts_with(NO_TOKEN) => Self::new("nothing can satisfy it"),
            Some(keyword) => {
                let reason = format!("the keyword {keyword:?} can't be followed");
                Self::Refused(RefusedGrammar { reason, keyword: Some(keyword) })
            }
            None => Self::new(said),
        }
    }
}

impl RefusedGrammar {
    /// Adds the place of the keyword at fault, if one of `schemas` has the keyword. Each schema
    /// comes with the name of its owner, as `tool "f"` or `the response`.
    #[must_use]
    pub fn with_place(self, schemas: impl IntoIterator<Item = (String, Value)>) -> Self {
        let Some(keyword) = self.keyword.as_deref() else { return self };
        let mut places = schemas.into_iter().filter_map(|(of, schema)| Some((of, place(&schema, keyword)?)));
        let Some((of, place)) = places.next() else { return self };
        Self {
            reason: format!("the schema of {of} has {keyword:?} at {place}, which can't be followed"),
            ..self
        }
    }
}

/// JSON pointer (`#/…`) to the first occurrence of `keyword` in a schema.
fn place(schema: &Value, keyword: &str) -> Option<String> {
    match schema {
        Value::Object(members) if members.contains_key(keyword) => Some(format!("#/{keyword}")),
        Value::Object(members) => members.iter().find_map(|(key, value)| match value {
            _ if VALUES.contains(&key.as_str()) => None,
            Value::Object(named) if NAMED.contains(&key.as_str()) => {
                named.iter().find_map(|(name, inner)| below(inner, keyword, &format!("{key}/{name}")))
            }
            inner => below(inner, keyword, key),
        }),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, inner)| below(inner, keyword, &index.to_string()))
        }
        _ => None,
    }
}

fn below(inner: &Value, keyword: &str, name: &str) -> Option<String> {
    place(inner, keyword).map(|place| place.replacen('#', &format!("#/{name}"), 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn error_names_keyword_and_place_and_no_grammar_text() {
        let text =
            "at 1(8): failed to compile JSON schema: Unimplemented keys: [\"uniqueItems\"]\n 1 | start: x";
        let error = GrammarError::of_llguidance(text);
        assert_eq!(error.to_string(), "the keyword \"uniqueItems\" can't be followed");
        let schema = json!({"properties": {"uniqueItems": {"anyOf": [{}, {"items": {"uniqueItems": true}}]}}, "enum": [{"uniqueItems": 1}]});
        let GrammarError::Refused(error) = error else { panic!("{error}") };
        let placed =
            error.with_place([("tool \"f\"".to_owned(), json!({})), ("the response".to_owned(), schema)]);
        let wanted = "the schema of the response has \"uniqueItems\" at #/properties/uniqueItems/anyOf/1/items/uniqueItems, which can't be followed";
        assert_eq!(placed.to_string(), wanted);
    }

    #[test]
    fn what_names_no_keyword_is_said_as_it_is() {
        let text = "at 1(8): failed to compile JSON schema: Unsatisfiable schema: required property 'a' is unsatisfiable\nx";
        let GrammarError::Refused(error) = GrammarError::of_llguidance(text) else { panic!("{text}") };
        assert_eq!(
            error.with_place([("x".to_owned(), json!({}))]).to_string(),
            "Unsatisfiable schema: required property 'a' is unsatisfiable"
        );
    }
}
