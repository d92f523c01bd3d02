//! A definition as one regular expression, for inputs that are strings of JSON: a grammar engine quotes
//! what matches a schema's `pattern`, and nothing else.

use std::collections::BTreeMap;

use super::definition::{Definition, Part};
use super::lexemes::{Lexeme, lexemes};
use crate::lark::text::escape;

/// Greatest length of the expression, in bytes: each use of a name repeats its body.
const BYTES: usize = 64 << 10;

/// The terminals that `%import common.…` brings, and what they match.
const COMMON: [(&str, &str); 25] = [
    ("DIGIT", "[0-9]"),
    ("HEXDIGIT", "[a-fA-F0-9]"),
    ("INT", "[0-9]+"),
    ("SIGNED_INT", "[+-]?[0-9]+"),
    ("DECIMAL", r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"),
    ("_EXP", "[eE][+-]?[0-9]+"),
    ("FLOAT", r"(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"),
    ("SIGNED_FLOAT", r"[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"),
    ("NUMBER", r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"),
    ("SIGNED_NUMBER", r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"),
    ("ESCAPED_STRING", r#""(?:[^"\\\n]|\\[^\n])*""#),
    ("LCASE_LETTER", "[a-z]"),
    ("UCASE_LETTER", "[A-Z]"),
    ("LETTER", "[A-Za-z]"),
    ("WORD", "[A-Za-z]+"),
    ("CNAME", "[_A-Za-z][_A-Za-z0-9]*"),
    ("WS_INLINE", r"[ \t]+"),
    ("WS", r"[ \t\f\r\n]+"),
    ("CR", r"\r"),
    ("LF", r"\n"),
    ("NEWLINE", r"(?:\r?\n)+"),
    ("SH_COMMENT", r"#[^\n]*"),
    ("CPP_COMMENT", r"//[^\n]*"),
    ("C_COMMENT", r"/\*(?:[^*]|\*+[^*/])*\*+/"),
    ("SQL_COMMENT", r"--[^\n]*"),
];

/// What a terminal of `common` matches, if there is one of this name.
pub(super) fn common(name: &str) -> Option<&'static str> {
    COMMON.iter().find(|(known, _)| *known == name).map(|(_, pattern)| *pattern)
}

impl Definition {
    /// The regular expression of the whole definition.
    ///
    /// # Errors
    /// The definition is recursive, has `%ignore`, or is too long as one expression.
    pub(super) fn pattern(&self) -> Result<String, String> {
        if let Some(name) = self.recursive(|_| true) {
            return Err(format!("{name} is recursive: no string of JSON can follow it"));
        }
        if !self.ignored.is_empty() {
            return Err("%ignore can't be followed in a string of JSON".into());
        }
        let imports = self.imports.iter();
        let mut known = imports
            .filter_map(|(local, name)| Some((local.as_str(), common(name)?.to_owned())))
            .collect::<BTreeMap<_, _>>();
        self.expand("start", &mut known)?;
        Ok(format!("^(?:{})$", known["start"]))
    }

    /// Makes the expression of a name, and of those in its body: no name leads to itself.
    fn expand<'a>(&'a self, name: &'a str, known: &mut BTreeMap<&'a str, String>) -> Result<(), String> {
        let mut pattern = String::new();
        for part in self.bodies.get(name).into_iter().flatten() {
            match part {
                Part::Name(other) => {
                    if !known.contains_key(other.as_str()) {
                        self.expand(other, known)?;
                    }
                    pattern.extend(["(?:", known[other.as_str()].as_str(), ")"]);
                }
                Part::Lark(text) => pattern.push_str(&expression(text)?),
            }
            if pattern.len() > BYTES {
                return Err("it is too long for a string of JSON".into());
            }
        }
        known.insert(name, pattern);
        Ok(())
    }
}

/// A text, range, expression or sign of Lark as a part of a regular expression.
///
/// # Errors
/// A text has half of a character.
fn expression(lark: &str) -> Result<String, String> {
    let lexemes = lexemes(lark)?;
    Ok(match lexemes.as_slice() {
        [Lexeme::Text(from), Lexeme::Sign(".."), Lexeme::Text(to)] => {
            format!("[{}-{}]", unquoted(from)?, unquoted(to)?)
        }
        [Lexeme::Text(text)] => match text.strip_suffix('i') {
            Some(text) => format!("(?i:{})", unquoted(text)?),
            None => format!("(?:{})", unquoted(text)?),
        },
        [Lexeme::Regex(text, flags)] => {
            let flags = flags.replace('u', "");
            // A comment, which the flag x allows, ends with its line.
            let end = if flags.contains('x') { "\n)" } else { ")" };
            format!("(?{flags}:{text}{end}")
        }
        [Lexeme::Sign("(" | "[")] => "(?:".to_owned(),
        [Lexeme::Sign("]")] => ")?".to_owned(),
        _ => lark.to_owned(),
    })
}

/// A quoted text's characters, each escaped.
fn unquoted(quoted: &str) -> Result<String, String> {
    let (mut json, mut chars) = (String::with_capacity(quoted.len()), quoted.chars());
    while let Some(char) = chars.next() {
        json.push(char);
        match chars.as_str().chars().next().filter(|_| char == '\\') {
            // Lark's own escape is one of JSON's with two digits fewer.
            Some('x') => json.push_str("u00"),
            Some(escaped) => json.push(escaped),
            None => continue,
        }
        chars.next();
    }
    let text = serde_json::from_str::<String>(&json).map_err(|error| format!("{quoted}: {error}"))?;
    Ok(text.chars().map(escape).collect())
}

#[cfg(test)]
mod tests {
    use super::super::lark;

    fn pattern(text: &str) -> String {
        lark(text)
            .and_then(|definition| definition.pattern())
            .unwrap_or_else(|error| format!("error: {error}"))
    }

    #[test]
    fn each_part_of_lark_is_a_part_of_the_expression() {
        for (definition, expected) in [
            (r#"start: "a.b" | "c"i"#, r"^(?:(?:a\.b)|(?i:c))$"),
            (r#"start: ("a" ["b"])~2..3"#, r"^(?:(?:(?:a)(?:(?:b))?){2,3})$"),
            (r#"start: "a".."f"* "\x41\u00e9\"..\"""#, r#"^(?:[a-f]*(?:Aé"\.\."))$"#),
            ("start: /a|b/i /c/ /d # e/x", "^(?:(?i:a|b)(?:c)(?x:d # e\n))$"),
            ("start: A+\nA: LF\n%import common.LF", r"^(?:(?:(?:\n))+)$"),
        ] {
            assert_eq!(pattern(definition), expected, "{definition}");
        }
    }

    #[test]
    fn what_is_no_regular_expression_is_refused() {
        let rules = (0..20).map(|rule| format!("r{rule}: r{0} r{0}", rule + 1));
        let doubled = rules.collect::<Vec<_>>().join("\n");
        for (definition, why) in [
            (r#"start: "a" start?"#, "recursive"),
            ("start: /a/\n%ignore / /", "%ignore"),
            (&*format!("start: r0\n{doubled}\nr20: \"a\""), "too long"),
            (r#"start: "\ud800""#, "\\ud800"),
        ] {
            let error = pattern(definition);
            assert!(error.starts_with("error: ") && error.contains(why), "{error}");
        }
    }
}
