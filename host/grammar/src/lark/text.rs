//! Free text that can't spell a marker, as regular expressions which work with greedy lexemes.
//!
//! llguidance's lexer takes the longest lexeme and never goes back, so "text, then `<tool_call>`"
//! can't be one lexeme followed by another: the text would swallow the marker's beginning. Here
//! text is a run of *pieces*. A piece has no character that begins a marker, or begins with such
//! characters and goes on until the text can't become a marker any more. At a `<` the lexer
//! therefore reads piece and marker side by side, and exactly one of them survives.

use std::fmt::Write as _;

/// Number of a literal's first characters that suffice to keep the literal out.
const SHORTEST: usize = 2;

/// Literals that a text must not contain.
#[derive(Debug)]
pub(crate) struct Forbidden {
    literals: Vec<Vec<char>>,
    /// Their first characters.
    first: Vec<char>,
}

impl Forbidden {
    /// # Errors
    /// A literal has only one character, or its second character begins a literal, too (pieces
    /// would overlap). Where a later character begins a literal, the characters before it are kept
    /// out.
    pub(super) fn new<'a>(literals: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut literals: Vec<Vec<char>> =
            literals.into_iter().map(|literal| literal.chars().collect()).collect();
        // Text that doesn't spell a literal's beginning, or a shorter literal in it, doesn't spell
        // the literal either.
        let begins: Vec<char> = literals.iter().filter_map(|literal| literal.first().copied()).collect();
        for literal in &mut literals {
            let overlap = literal.iter().skip(SHORTEST).position(|char| begins.contains(char));
            literal.truncate(overlap.map_or(literal.len(), |at| SHORTEST + at));
        }
        let all = literals.clone();
        let holds = |long: &[char], short: &[char]| {
            long != short && long.windows(short.len()).any(|part| part == short)
        };
        literals.retain(|literal| !all.iter().any(|other| !other.is_empty() && holds(literal, other)));
        literals.sort();
        let mut first: Vec<char> = literals.iter().filter_map(|literal| literal.first().copied()).collect();
        first.dedup();
        let unfit = |literal: &&Vec<char>| {
            literal.len() < SHORTEST || literal.iter().skip(1).any(|char| first.contains(char))
        };
        match literals.iter().find(unfit) {
            Some(literal) => {
                let literal: String = literal.iter().collect();
                Err(format!(
                    "text can't be kept from spelling {literal:?}: it holds the beginning of a marker"
                ))
            }
            None => Ok(Self { literals, first }),
        }
    }

    /// What to keep out of JSON's strings: a literal that goes on with the quote that ends a
    /// string, and perhaps with what may stand behind one in JSON, is kept out up to there.
    pub(super) fn in_json(&self) -> Self {
        let before_quote = |literal: &Vec<char>| {
            let may_end = |at: &usize| literal.get(at + 1).is_none_or(|next| ",:]} \t\r\n".contains(*next));
            let quote = literal.iter().position(|char| *char == '"').filter(|at| *at >= SHORTEST);
            literal[..quote.filter(may_end).unwrap_or(literal.len())].iter().collect::<String>()
        };
        let literals: Vec<String> = self.literals.iter().map(before_quote).collect();
        Self::new(literals.iter().map(String::as_str)).expect("beginnings of literals that are kept out")
    }

    /// Whether there is nothing to keep out.
    pub(crate) fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    /// Regular expression of one piece of text.
    pub(super) fn piece(&self) -> String {
        let plain = self.plain();
        format!("{plain}+|(?:{})*{}{plain}*", self.beginning(), self.divergence(&self.tails()))
    }

    /// Regular expression of what pieces leave out at a text's end: beginnings of literals.
    pub(super) fn tail(&self) -> String {
        format!("(?:{})+", self.beginning())
    }

    /// Regular expression of a whole text, for `pattern` in a JSON schema.
    pub(super) fn pattern(&self) -> String {
        format!("^(?:{})*(?:{})*$", self.piece(), self.beginning())
    }

    /// Whether a text contains none of the literals.
    pub(crate) fn allows(&self, text: &str) -> bool {
        !self.literals.iter().any(|literal| text.contains(&literal.iter().collect::<String>()))
    }

    fn tails(&self) -> Vec<&[char]> {
        self.literals.iter().map(Vec::as_slice).collect()
    }

    /// A character that begins no literal.
    fn plain(&self) -> String {
        class(&self.first)
    }

    /// A beginning of some literal, not all of it.
    fn beginning(&self) -> String {
        next_characters(&self.tails())
            .map(|(char, rest)| format!("{}{}", escape(char), prefixes(&rest)))
            .collect::<Vec<_>>()
            .join("|")
    }

    /// A beginning of a literal, and one character that neither continues the literal nor begins
    /// one.
    fn divergence(&self, tails: &[&[char]]) -> String {
        let begun = next_characters(tails).filter(|(_, rest)| !rest.iter().any(|tail| tail.is_empty()));
        let branches: Vec<String> =
            begun.map(|(char, rest)| format!("{}{}", escape(char), self.after(&rest))).collect();
        format!("(?:{})", branches.join("|"))
    }

    fn after(&self, tails: &[&[char]]) -> String {
        let mut left_out = self.first.clone();
        left_out.extend(next_characters(tails).map(|(char, _)| char));
        let longer = next_characters(tails).any(|(_, rest)| !rest.iter().any(|tail| tail.is_empty()));
        if longer { format!("(?:{}|{})", class(&left_out), self.divergence(tails)) } else { class(&left_out) }
    }
}

/// The first characters of `tails`, which are sorted, each with what follows it in the tails that
/// begin with it.
fn next_characters<'a>(tails: &[&'a [char]]) -> impl Iterator<Item = (char, Vec<&'a [char]>)> + use<'a> {
    let mut branches: Vec<(char, Vec<&[char]>)> = Vec::new();
    for (char, rest) in tails.iter().filter_map(|tail| tail.split_first()) {
        match branches.last_mut() {
            Some((last, rests)) if last == char => rests.push(rest),
            _ => branches.push((*char, vec![rest])),
        }
    }
    branches.into_iter()
}

/// None or some of the next characters, not up to a literal's end.
fn prefixes(tails: &[&[char]]) -> String {
    let begun = next_characters(tails).filter(|(_, rest)| !rest.iter().any(|tail| tail.is_empty()));
    let branches: Vec<String> =
        begun.map(|(char, rest)| format!("{}{}", escape(char), prefixes(&rest))).collect();
    if branches.is_empty() { String::new() } else { format!("(?:{})?", branches.join("|")) }
}

/// Any character but these.
fn class(left_out: &[char]) -> String {
    let mut class = String::from("[^");
    for char in left_out {
        class += &escape(*char);
    }
    class + "]"
}

/// A character as a regular expression; angle brackets stay bare, escaped ones would be word
/// boundaries.
pub(crate) fn escape(char: char) -> String {
    let mut escaped = String::new();
    match char {
        '<' | '>' | '_' | '"' | '\'' | ' ' | '=' | ':' | ',' | ';' | '!' | '%' | '@' | '`' => {
            escaped.push(char);
        }
        _ if char.is_ascii_control() => {
            let _ = write!(escaped, "\\x{:02x}", u32::from(char));
        }
        _ if char.is_ascii_punctuation() => {
            escaped.push('\\');
            escaped.push(char);
        }
        _ => escaped.push(char),
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_where_no_literal_can_come_of_it() {
        let forbidden = Forbidden::new(["<a>", "<b>"]).unwrap();
        assert_eq!(forbidden.piece(), "[^<]+|(?:<(?:a|b)?)*(?:<(?:[^<ab]|(?:a[^<>]|b[^<>])))[^<]*");
        assert_eq!(forbidden.tail(), "(?:<(?:a|b)?)+");
    }

    #[test]
    fn literal_ending_as_another_begins_bars_the_rest() {
        let forbidden = Forbidden::new(["[e~[", "<a>"]).unwrap();
        assert!(forbidden.allows("[e [") && !forbidden.allows("x[e~ ") && !forbidden.allows("<a>"));
    }

    #[test]
    fn overlapping_literals_are_refused() {
        assert!(Forbidden::new(["<a>", "x<b"]).unwrap_err().contains("x<b"));
    }

    #[test]
    fn quote_ending_a_json_string_completes_no_marker() {
        let markers = Forbidden::new(["<f name=\"", "</f>", "<\"", "<|\"|>"]).unwrap();
        let inside = markers.in_json();
        for (text, in_text, in_json) in
            [("<f name=", true, false), ("<f name", true, true), ("</f>", false, false), ("<|", true, true)]
        {
            assert_eq!((markers.allows(text), inside.allows(text)), (in_text, in_json), "{text}");
        }
    }

    #[test]
    fn what_text_can_exclude_json_can_exclude_too() {
        let longer = |texts: &[String]| -> Vec<String> {
            texts.iter().flat_map(|text| ["a", "b", "\"", ","].map(|char| format!("{text}{char}"))).collect()
        };
        let two = longer(&longer(&[String::new()]));
        let (three, four) = (longer(&two), longer(&longer(&two)));
        let all: Vec<&str> = two.iter().chain(&three).chain(&four).map(String::as_str).collect();
        let mut fit = 0;
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (*one, *other))) {
            if let Ok(markers) = Forbidden::new([one, other]) {
                let inside = markers.in_json();
                assert!(markers.allows("") && (markers.allows(one) || !inside.allows(one)), "{one} {other}");
                fit += 1;
            }
        }
        assert!(fit > 10_000, "{fit}");
    }
}
