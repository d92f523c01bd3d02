//! How delimiters, names and parameters are spelt in the template of a table's grammars.

use parser_sdk::json::escape;

use super::tokens::parts;
use super::writer::{CALLS, Writer};
use super::{Class, Delimiter, Field, Lines, Parameter, Pattern, Piece, Run};

/// Longest delimiter with a tool's name in it, in bytes without white space: the parser waits for
/// 512, white space included.
const NAMED: usize = 400;

impl Writer<'_> {
    pub(super) fn parameters(&mut self, field: &Field, parameter: &Parameter) {
        if !parameter.has_any_keys() {
            self.refuse(&CALLS, "the keys of this table's parameters can't be described");
        }
        let mut ends = self.table.triggers(&[&field.close]);
        ends.extend(parameter.least_ends().map(|end| end.trigger));
        self.markers("value", &ends);
        let before = if parameter.spaced { "\"\\n\"" } else { "" };
        let [mut key, mut end, mut line] = <[String; 3]>::default();
        self.pattern(&parameter.keys[0].pattern, "key", &mut key);
        self.pattern(&parameter.ends[0].pattern, "", &mut end);
        self.pattern(&parameter.end_of_line().pattern, "", &mut line);
        self.line("raw: $ $ value $ gap?", &[&key, before, &end]);
        self.line("json: $ $ value $ gap?", &[&key, before, &line]);
    }

    /// Arguments as lines.
    pub(super) fn lines(&mut self, field: &Field, lines: &Lines) {
        let mut ends = self.table.triggers(&[&field.close]);
        ends.extend(self.index(&lines.line));
        self.markers("value", &ends);
        let mut class = String::new();
        lines.key.chars().next().into_iter().for_each(|char| push_escaped(char, &mut class));
        self.line(r"%key 64 /[^\s<>=$]/", &[&class]);
        let behind_key = [lines.key.as_str(), if lines.trims { " " } else { "" }].concat();
        let end = self.marker(&lines.line);
        self.line("parameter: key $ value $", &[&literal(&behind_key), &end]);
    }

    /// Arguments in a dialect of JSON.
    pub(super) fn dialect(&mut self, field: &Field, bare_keys: bool, strings: &[(Delimiter, Delimiter)]) {
        let key = if bare_keys { "key" } else { "json_key" };
        self.line("pair: $ \": \" value", &[key]);
        self.text.push_str("object: \"{\" members \"}\"\nlist: \"[\" items \"]\"\n");
        if bare_keys {
            self.text.push_str("%key 256 /[\\p{Alphabetic}\\p{N}_]/\n");
        }
        if let [(open, close), ..] = strings {
            let closes: Vec<usize> = strings.iter().map(|(_, close)| close.trigger).collect();
            let ends = [self.table.triggers(&[&field.close]), closes].concat();
            self.markers("value", &ends);
            let [mut before, mut behind] = <[String; 2]>::default();
            self.pattern(&open.pattern, "", &mut before);
            self.pattern(&close.pattern, "", &mut behind);
            self.line("string: $ chars $", &[&before, &behind]);
        }
    }

    /// The names that the parser finds in all of these delimiters.
    pub(super) fn names(&mut self, opens: &[Delimiter]) {
        let (mut most, mut classes) = (NAMED, String::new());
        for pattern in opens.iter().map(|open| &open.pattern) {
            let Pattern(pieces) = pattern;
            let length: usize = pieces.iter().map(|piece| piece.literal().len()).sum();
            most = most.min(NAMED.saturating_sub(length));
            let group = pattern.group_at().and_then(|at| pieces[at..].split_first());
            let Some((Piece::Run(Run { except, class, only, .. }), behind)) = group else {
                continue;
            };
            classes.push_str(if classes.is_empty() { "" } else { "&&" });
            if matches!(class, Class::Word | Class::Only) {
                classes.push_str(if *class == Class::Word { r"[\p{Alphabetic}\p{N}_" } else { "[" });
                for &(from, to) in only {
                    push_escaped(from, &mut classes);
                    classes.push('-');
                    push_escaped(to, &mut classes);
                }
                classes.push(']');
                continue;
            }
            // What follows the name ends it, and so does a line.
            let next = behind.iter().find_map(|piece| piece.literal().chars().next());
            classes.push_str("[^");
            let white = if *class == Class::NoSpace { " \r\t" } else { "" };
            let all = except.chars().chain(white.chars()).chain(next).chain(['\n']);
            all.for_each(|char| push_escaped(char, &mut classes));
            classes.push(']');
        }
        if !classes.is_empty() {
            self.line("%name $ /[$]/", &[&most.max(1).to_string(), &classes]);
        }
    }

    /// The start anchor.
    pub(super) fn anchor(&self) -> String {
        let mut all = self.any(&self.table.anchors, "");
        for (index, anchor) in self.table.plain_anchors.iter().enumerate() {
            match index {
                0 if self.table.anchors.is_empty() => all.clear(),
                _ => all.push_str(" | "),
            }
            self.pattern(anchor, "", &mut all);
        }
        all
    }

    /// One of these delimiters, with `group` in place of their patterns' group.
    #[inline(never)]
    pub(super) fn any(&self, delimiters: &[Delimiter], group: &str) -> String {
        let mut all = String::new();
        for (index, delimiter) in delimiters.iter().enumerate() {
            all.push_str(if index > 0 { " | " } else { "" });
            self.pattern(&delimiter.pattern, group, &mut all);
        }
        if delimiters.is_empty() { "\"\"".into() } else { all }
    }

    /// The marker that is this text, or the text itself.
    fn marker(&self, text: &str) -> String {
        match self.index(text) {
            Some(index) => ["marker_", &index.to_string()].concat(),
            None => literal(text),
        }
    }

    fn index(&self, text: &str) -> Option<usize> {
        self.table.markers.0.iter().position(|marker| **marker == *text)
    }

    /// Appends a pattern as a Lark expression, with `group` in place of the pattern's group.
    fn pattern(&self, pattern: &Pattern, group: &str, all: &mut String) {
        let markers = &self.table.markers.0;
        let begin = all.len();
        let mut word = |word: &str| {
            all.push_str(if all.len() > begin && !word.is_empty() { " " } else { "" });
            all.push_str(word);
        };
        for piece in &pattern.0 {
            match piece {
                Piece::Literal(text) if markers.iter().any(|marker| **marker == **text) => {
                    word(&self.marker(text));
                }
                Piece::Literal(text) => parts(text).for_each(|part| word(&self.marker(part))),
                Piece::Space => word("gap?"),
                Piece::Run(Run { group: Some(_), .. }) => word(group),
                // A counter, of which the pattern wants a character at least.
                Piece::Run(run) if run.is_some && run.takes('0') => word("\"0\""),
                Piece::Run(Run { is_some: true, only, .. }) => {
                    only.first().into_iter().for_each(|(char, _)| word(&literal(&char.to_string())));
                }
                Piece::Ahead(_) | Piece::Run(_) | Piece::Gap | Piece::Edge(_) | Piece::Boundary => {}
            }
        }
        if matches!(pattern.0.last(), Some(Piece::Run(_))) {
            word("\"\\n\"");
        }
    }
}

/// A text as a Lark string, which is a JSON string.
#[inline(never)]
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    escape(text, &mut quoted);
    quoted.push('"');
    quoted
}

/// Appends a character in a set of a regular expression.
fn push_escaped(char: char, set: &mut String) {
    match char {
        '\n' => set.push_str("\\n"),
        '\r' => set.push_str("\\r"),
        '\t' => set.push_str("\\t"),
        _ if char.is_ascii_control() => {
            set.push_str("\\x");
            let digits = [u32::from(char) >> 4, u32::from(char) & 15];
            set.extend(digits.into_iter().filter_map(|digit| char::from_digit(digit, 16)));
        }
        '\\' | '[' | ']' | '^' | '-' | '&' | '~' => set.extend(['\\', char]),
        _ => set.push(char),
    }
}
