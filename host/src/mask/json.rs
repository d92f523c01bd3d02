//! Grammar of an answer that is JSON alone, for formats whose parsers have no grammars.

use engine::{JsonBegins, JsonConstraint};
use parser_sdk::grammar::response_json;
use serde_json::Value;

use super::GrammarError;

/// Returns the Lark grammar of the output from its first token on.
///
/// # Errors
/// The constraint's schema is no JSON schema, or too large.
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
