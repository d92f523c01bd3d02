//! Regular expressions that llama.cpp translates to its grammars
//! (`common/json-schema-to-grammar.cpp`, b11434). For any other it accepts every string, and says
//! so only in its own log. `schema` asks.

use std::iter::Peekable;
use std::str::Chars;

/// Characters that may be escaped outside of classes, in addition to those of grammars.
const ESCAPED: &str = "^$.[](){}|*+?";
/// Escapes of llama.cpp's grammars, which are also understood in classes; with the number of
/// hexadecimal digits that follow.
const GRAMMAR_ESCAPES: [(char, usize); 11] = [
    ('t', 0),
    ('r', 0),
    ('n', 0),
    ('\\', 0),
    ('"', 0),
    ('[', 0),
    (']', 0),
    ('-', 0),
    ('x', 2),
    ('u', 4),
    ('U', 8),
];
/// Maximum depth of groups.
const DEPTH: usize = 32;

/// Whether llama.cpp follows the pattern: it is anchored at both ends and has no other anchors, no
/// lookaround, and only simple escapes.
pub(super) fn is_translatable(pattern: &str) -> bool {
    let inner = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix('$'));
    inner.is_some_and(|inner| follows(&mut inner.chars().peekable()).is_some())
}

/// `None` at the first thing that isn't followed.
fn follows(chars: &mut Peekable<Chars<'_>>) -> Option<()> {
    let mut depth = 0_usize;
    while let Some(char) = chars.next() {
        match char {
            '^' | '$' | ']' | '}' => return None,
            '(' => {
                depth += 1;
                if depth > DEPTH || chars.next_if_eq(&'?').is_some() && chars.next() != Some(':') {
                    return None;
                }
            }
            ')' => depth = depth.checked_sub(1)?,
            '\\' => escape(chars, ESCAPED)?,
            '[' => class(chars)?,
            '{' => {
                while chars.next_if(|char| char.is_ascii_digit() || *char == ',').is_some() {}
                chars.next_if_eq(&'}')?;
            }
            _ => {}
        }
    }
    (depth == 0).then_some(())
}

fn class(chars: &mut Peekable<Chars<'_>>) -> Option<()> {
    loop {
        match chars.next()? {
            ']' => return Some(()),
            '\\' => escape(chars, "")?,
            _ => {}
        }
    }
}

fn escape(chars: &mut Peekable<Chars<'_>>, more: &str) -> Option<()> {
    let char = chars.next()?;
    if more.contains(char) {
        return Some(());
    }
    let (_, digits) = GRAMMAR_ESCAPES.into_iter().find(|(escaped, _)| *escaped == char)?;
    (0..digits).all(|_| chars.next().is_some_and(|char| char.is_ascii_hexdigit())).then_some(())
}
