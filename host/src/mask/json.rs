//! The grammar of an answer that is JSON and nothing else: for formats whose parsers have no grammars of their own.

use engine::{JsonBegins, JsonConstraint};
use serde_json::{Map, Value, json};

use super::GrammarError;

/// White space at each place where JSON allows it: a blank, or a new line and its indentation. Without a bound a model may write it for ever.
const WHITE_SPACE: &str = r"(?: |\r?\n[ \t]{0,32})";

/// The Lark grammar of what is generated from the first token on.
///
/// # Errors
/// The schema is neither an object nor a boolean.
pub fn json_grammar(constraint: &JsonConstraint) -> Result<String, GrammarError> {
    let schema = prepared(&constraint.schema)?;
    let (before, rule) = match &constraint.begins {
        JsonBegins::AtOnce => (String::new(), String::new()),
        JsonBegins::After { id: Some(id), .. } => (format!("/(?s:.*)/ <[{id}]> "), String::new()),
        JsonBegins::After { text, id: None } => {
            let end = Value::from(text.as_str());
            ("thought ".to_owned(), format!("thought[suffix={end}]: /(?s:.*)/\n"))
        }
    };
    Ok(format!("start: {before}gap? %json {schema} gap?\ngap: /{WHITE_SPACE}/\n{rule}"))
}

/// Parsed and written anew, so that nothing in it is read as grammar; llguidance's settings are ours.
fn prepared(schema: &str) -> Result<Value, GrammarError> {
    let mut members = match serde_json::from_str(schema) {
        Ok(Value::Object(members)) => members,
        Ok(Value::Bool(true)) => Map::new(),
        Ok(Value::Bool(false)) => Map::from_iter([("not".to_owned(), json!({}))]),
        _ => return Err(GrammarError::new("the schema is neither an object nor a boolean")),
    };
    members.insert("x-guidance".to_owned(), json!({"whitespace_pattern": WHITE_SPACE}));
    Ok(Value::Object(members))
}
