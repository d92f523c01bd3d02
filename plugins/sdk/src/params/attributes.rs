//! Attributes behind the name in a tag: `name="value"` pairs, in quotes of either kind or in none.
//! Words that are none of these aren't markup.

/// The value of attribute `name`, if there is one, and whether there is nothing but pairs.
pub(super) fn look_up<'a>(attributes: &'a str, name: &str) -> (Option<&'a str>, bool) {
    let (mut pairs, mut found) = (Pairs(attributes), None);
    for (key, value) in pairs.by_ref() {
        found = found.or_else(|| (key == name).then_some(value));
    }
    (found, pairs.0.trim_start().is_empty())
}

/// Whether there is nothing but pairs; with `goes_on`, the last may be unfinished.
pub(super) fn are_pairs(attributes: &str, goes_on: bool) -> bool {
    let mut pairs = Pairs(attributes);
    while pairs.next().is_some() {}
    let rest = pairs.0.trim_start();
    rest.is_empty() || (goes_on && is_begun(rest))
}

/// Whether the text may be the beginning of a pair.
fn is_begun(text: &str) -> bool {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    is_name(name) && (value.is_empty() || is_quote(value.as_bytes()[0]))
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

/// The text between the quotes at the beginning of `text`, and what follows.
pub(super) fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = *text.as_bytes().first().filter(|byte| is_quote(**byte))?;
    let inner = &text[1..];
    let end = inner.bytes().position(|byte| byte == quote)?;
    Some((&inner[..end], &inner[end + 1..]))
}

/// Whether the text may be an attribute's name, or a role.
pub(super) fn is_name(name: &str) -> bool {
    name.bytes().all(is_of_name)
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':')
}

/// Iterator over pairs, up to the first words that are none.
struct Pairs<'a>(&'a str);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0.trim_start();
        let end = text.bytes().position(|byte| !is_of_name(byte)).filter(|end| *end > 0)?;
        let (name, rest) = (&text[..end], text[end..].strip_prefix('=')?);
        let (value, rest) = match quoted(rest) {
            Some(parts) => parts,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        if value.bytes().next().is_some_and(is_quote) {
            return None;
        }
        self.0 = rest;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::{are_pairs, look_up};

    #[test]
    fn pairs_have_quotes_of_either_kind_or_none() {
        let attributes = r#" string="true" index='1' type=object"#;
        assert!(are_pairs(attributes, false));
        assert_eq!(
            ["string", "index", "type", "none"].map(|name| look_up(attributes, name)),
            [Some("true"), Some("1"), Some("object"), None].map(|value| (value, true))
        );
    }

    #[test]
    fn words_are_no_pairs() {
        for words in [" and more", r#" string="true" and"#, r#" string="tr"#, " = x", r#" a b="c""#] {
            assert!(!are_pairs(words, false), "{words}");
        }
        for (begun, may_go_on) in
            [(" str", true), (r#" string="tr"#, true), (" and more", false), ("?", false)]
        {
            assert_eq!(are_pairs(begun, true), may_go_on, "{begun}");
        }
    }
}
