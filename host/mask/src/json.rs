//! Grammars of answers that are JSON or text alone, where no parser makes them.

use engine::{JsonBegins, JsonConstraint};
use grammar::{TextGrammar, response_json, response_text};
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

/// Returns the Lark grammar of an output that is text of this grammar, in `lark` or `regex`.
///
/// # Errors
/// What is wrong with the grammar.
pub fn text_grammar(syntax: &str, definition: &str) -> Result<String, String> {
    let grammar = TextGrammar { syntax: syntax.to_owned(), definition: definition.to_owned() };
    Ok(format!("start: {}\n", response_text(&grammar)?))
}
