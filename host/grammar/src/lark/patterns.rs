//! Rewrites regular expressions of schemas so that the grammar engine quotes them right inside JSON
//! strings.
//!
//! llguidance (its `derivre` 0.3) quotes a set of characters that has all control characters as a
//! whole, and lets `\"` and `\\` come then, even where the set has no quote or no backslash:
//! `^[^"]$` would take `"\""`. What may stand for such a set, alone or joined with its
//! alternatives, loses one control character here, so that it is quoted character by character.
//! This narrows a pattern by texts with U+0001, and changes nothing else.

use serde_json::{Map, Value};

/// Keywords whose value is a map from names to schemas.
pub(super) const NAMED: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keywords whose value is no schema.
pub(super) const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// The schema with rewritten patterns.
pub(super) fn exact(schema: Value) -> Value {
    match schema {
        Value::Array(schemas) => schemas.into_iter().map(exact).collect(),
        Value::Object(members) => Value::Object(members.into_iter().map(member).collect()),
        other => other,
    }
}

fn member((key, value): (String, Value)) -> (String, Value) {
    let value = match (key.as_str(), value) {
        ("pattern", Value::String(pattern)) => Value::String(quotable(&pattern)),
        ("patternProperties", Value::Object(schemas)) => {
            let all = schemas.into_iter().map(|(pattern, schema)| (quotable(&pattern), exact(schema)));
            Value::Object(all.collect::<Map<_, _>>())
        }
        (name, Value::Object(schemas)) if NAMED.contains(&name) => {
            Value::Object(schemas.into_iter().map(|(name, schema)| (name, exact(schema))).collect())
        }
        (name, value) if VALUES.contains(&name) => value,
        (_, value) => exact(value),
    };
    (key, value)
}

/// The pattern without U+0001 in the pieces that may have all control characters, but no quote or
/// no backslash.
fn quotable(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(piece_length(rest));
        if may_be_misquoted(piece) {
            written.extend(["[", piece, r"&&[^\x01]]"]);
        } else {
            written.push_str(piece);
        }
        rest = behind;
    }
    written
}

/// Length in bytes of the pattern's first piece: a set, an escape, or a character. Text that isn't
/// closed is no pattern, and one piece.
fn piece_length(pattern: &str) -> usize {
    let length = match pattern.as_bytes()[0] {
        b'[' => set_length(pattern),
        b'\\' => escape_length(pattern),
        _ => pattern.chars().next().map(char::len_utf8),
    };
    length.unwrap_or(pattern.len())
}

/// Length in bytes of a set with the bracket that closes it; other sets may stand in it.
fn set_length(pattern: &str) -> Option<usize> {
    let (mut at, mut depth) = (0, 0);
    loop {
        let rest = &pattern[at..];
        at += match rest.as_bytes().first()? {
            b'[' => {
                depth += 1;
                let first = if rest.starts_with("[^") { 2 } else { 1 };
                // A bracket that a set begins with stands for itself.
                first + usize::from(rest[first..].starts_with(']'))
            }
            b']' if depth == 1 => return Some(at + 1),
            b']' => {
                depth -= 1;
                1
            }
            b'\\' => escape_length(rest)?,
            _ => rest.chars().next()?.len_utf8(),
        };
    }
}

/// Length in bytes of an escape with its argument: `\n`, `\x41`, `\u{41}`, `\pL`,
/// `\P{Punctuation}`.
fn escape_length(pattern: &str) -> Option<usize> {
    let kind = pattern[1..].chars().next()?;
    let behind = 1 + kind.len_utf8();
    let argument = &pattern[behind..];
    let longest = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'p' | 'P' => 1,
        _ => return Some(behind),
    };
    if argument.starts_with('{') {
        return argument.find('}').map(|end| behind + end + 1);
    }
    let (last, character) = argument.char_indices().nth(longest - 1)?;
    Some(behind + last + character.len_utf8())
}

/// Whether a piece may have U+0001, and may lack a quote or a backslash.
fn may_be_misquoted(piece: &str) -> bool {
    if let Some(set) = piece.strip_prefix('[') {
        let tells = ['\\', '['];
        return match set.strip_prefix('^') {
            // The set has quote and backslash unless it excludes one by name, perhaps by an escape
            // or in a range.
            Some(without) => without.contains(tells) || without.contains(['"', '-', '&', '~']),
            None => set.contains(tells) || set.contains(char::is_control),
        };
    }
    match piece.as_bytes() {
        [b'\\', b'p' | b'P', ..] => true,
        [b'\\', b'x' | b'u' | b'U', code @ ..] => is_one(code),
        _ => piece == "\x01",
    }
}

/// Whether these are the digits of U+0001, in braces or not.
fn is_one(code: &[u8]) -> bool {
    let digits = code.iter().filter(|byte| !matches!(byte, b'{' | b'}'));
    digits.skip_while(|digit| **digit == b'0').eq(b"1")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sets_without_quote_or_backslash_lose_control_char() {
        for set in [
            r#"[^"]"#,
            r"[^\\]",
            r#"[^]"]"#,
            r#"[^-"]"#,
            r"[^a-z]",
            r"[^\p{P}]",
            r"[^[:punct:]]",
            r#"[a[^"]]"#,
            r"[\0-!]",
            "[\0-!]",
            r"[[:cntrl:]x]",
            r"\p{Cc}",
            r"\P{P}",
            r"\PL",
            r"\x01",
            r"\u0001",
            r"\x{1}",
            "\x01",
        ] {
            let wanted = format!(r"^(é{}*[a-z]\[)\\$", format_args!(r"[{set}&&[^\x01]]"));
            assert_eq!(quotable(&format!(r"^(é{set}*[a-z]\[)\\$")), wanted, "{set}");
        }
    }

    #[test]
    fn other_patterns_stay_as_they_are() {
        for pattern in
            [r"\[^\]", r"[^<]+[a-z]\\[^<]", r"[]a-z]", "[^]<]é", r"\x41\u0041\U00000011\w.", "[", r"a\"]
        {
            assert_eq!(quotable(pattern), pattern);
        }
    }

    #[test]
    fn patterns_are_found_only_where_schemas_stand() {
        let schema = |pattern: &str| {
            json!({"anyOf": [{"pattern": pattern}], "properties": {"pattern": {"items": {"pattern": pattern}}},
                "patternProperties": {pattern: {"not": {"pattern": pattern}}}, "enum": [{"pattern": "[^\"]"}]})
        };
        assert_eq!(exact(schema("[^\"]")), schema(r#"[[^"]&&[^\x01]]"#));
    }
}
