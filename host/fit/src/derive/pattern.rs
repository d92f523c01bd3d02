//! Spells delimiters as the patterns of tables.

use serde_json::{Value, json};

use super::format::DerivedCalls;

/// The text as a pattern, with white space at its ends left out and line ends inside it optional.
pub(super) fn soft(text: &str) -> String {
    let mut pattern = String::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        pattern.push_str(&literal(&rest[..end]));
        let space = &rest[end..rest.len() - rest[end..].trim_start().len()];
        pattern.push_str(if space.contains('\n') { "\\s*" } else { space });
        rest = rest[end..].trim_start();
    }
    pattern
}

/// The text as a pattern inside another, with white space at its ends optional.
pub(super) fn spaced(text: &str) -> String {
    let space = |is: bool| if is && !text.trim().is_empty() { "\\s*" } else { "" };
    let (before, behind) = (text.starts_with(char::is_whitespace), text.ends_with(char::is_whitespace));
    format!("{}{}{}", space(before), soft(text), space(behind))
}

/// The text as a pattern that matches it alone.
pub(super) fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for char in text.chars() {
        match char {
            '\n' => pattern.push_str("\\n"),
            '\t' => pattern.push_str("\\t"),
            '\r' => pattern.push_str("\\r"),
            _ => {
                if "\\.+*?()|[]{}^$".contains(char) {
                    pattern.push('\\');
                }
                pattern.push(char);
            }
        }
    }
    pattern
}

/// The class of a name before this text.
pub(super) fn name_class(next: &str) -> String {
    let first = next.trim_start().chars().next();
    // A class holds no bracket that closes it.
    let except = first.filter(|char| *char != ']').map_or_else(String::new, String::from);
    if next.starts_with(char::is_whitespace) {
        format!("[^{except}\\s]+")
    } else {
        format!("[^{except}\\n]+")
    }
}

/// A field with the delimiters of a call, and those of the section before and behind.
pub(super) fn around(calls: &DerivedCalls, open: String, close: String) -> Result<Value, String> {
    let [before, behind] = [&calls.section.open, &calls.section.close].map(|text| soft(text));
    let open = match (before.as_str(), open.as_str()) {
        ("", _) => open,
        (before, "") => before.to_owned(),
        (before, open) => format!("(?:{before}\\s*)?{open}"),
    };
    let close = match (close.as_str(), behind.as_str()) {
        (_, "") => close,
        ("", behind) => behind.to_owned(),
        (close, behind) => format!("{close}\\s*(?:{behind})?"),
    };
    if close.is_empty() {
        return Err("a call has no end of its own".to_owned());
    }
    if open.is_empty() || open.starts_with(['(', '[']) && !open.starts_with("(?:") {
        return Err("a call doesn't begin with a delimiter".to_owned());
    }
    let mut field = json!({ "open_pattern": format!("\\s*{open}"), "close_pattern": close });
    if calls.separator.is_some() {
        field["repeats"] = json!(true);
    }
    Ok(field)
}
