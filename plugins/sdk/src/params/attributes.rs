//! Attributes behind the name in a tag: `name="value"` pairs, in quotes of either kind or in none.
//! Words that are none of these aren't markup.

/// The value of attribute `name`.
pub(super) fn value<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    Pairs(attributes).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether there is nothing but pairs; with `goes_on`, the last may be unfinished.
pub(super) fn are_pairs(attributes: &str, goes_on: bool) -> bool {
    let mut pairs = Pairs(attributes);
    pairs.by_ref().for_each(drop);
    let rest = pairs.0.trim_start();
    let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
    let is_begun = is_name(name) && (value.is_empty() || value.starts_with(QUOTES));
    rest.is_empty() || (goes_on && is_begun)
}

const QUOTES: [char; 2] = ['"', '\''];

/// The text between the quotes at the beginning of `text`, and what follows.
pub(super) fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|char| QUOTES.contains(char))?;
    text[1..].split_once(quote)
}

/// Whether the text may be an attribute's name, or a role.
pub(super) fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte))
}

/// Iterator over pairs, up to the first words that are none.
struct Pairs<'a>(&'a str);

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.0.trim_start().split_once('=')?;
        let (value, rest) = match quoted(rest) {
            Some(parts) => parts,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        if name.is_empty() || !is_name(name) || value.starts_with(QUOTES) {
            return None;
        }
        self.0 = rest;
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::{are_pairs, value};

    #[test]
    fn pairs_have_quotes_of_either_kind_or_none() {
        let attributes = r#" string="true" index='1' type=object"#;
        assert!(are_pairs(attributes, false));
        assert_eq!(
            ["string", "index", "type"].map(|name| value(attributes, name)),
            ["true", "1", "object"].map(Some)
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
