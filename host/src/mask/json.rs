//! The grammar of an answer that is JSON and nothing else: for formats whose parsers have no grammars of their own.

use engine::{JsonBegins, JsonConstraint};
use parser_sdk::grammar::response_json;
use serde_json::Value;

use super::GrammarError;

/// The Lark grammar of what is generated from the first token on.
///
/// # Errors
/// It is no schema, or too large.
pub fn json_grammar(constraint: &JsonConstraint) -> Result<String, GrammarError> {
    let json = response_json(&constraint.schema).map_err(GrammarError::new)?;
    let (before, rule) = match &constraint.begins {
        JsonBegins::AtOnce => (String::new(), String::new()),
        JsonBegins::After { id: Some(id), .. } => (format!("/(?s:.*)/ <[{id}]> "), String::new()),
        JsonBegins::After { text, id: None } => {
            let end = Value::from(text.as_str());
            ("thought ".to_owned(), format!("thought[suffix={end}]: /(?s:.*)/\n"))
        }
    };
    Ok(format!("start: {before}gap? {json} gap?\ngap: /[ \\t\\r\\n]{{1,8}}/\n{rule}"))
}
