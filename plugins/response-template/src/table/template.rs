//! The template of the grammars of a table's turns: reasoning, then the message or calls.
//!
//! Delimiters are written as the table's patterns have them, without unnamed runs. A message contains no marker that opens another region
//! or closes the message. What ends the turn counts inside the strings of calls, too, so there it has to be a token.

use std::collections::BTreeMap;

use parser_sdk::json::escape;

use super::delimiter::parts;
use super::{Delimiter, Field, Kind, Parameter, Pattern, Piece, Table};

/// Longest delimiter with a tool's name in it, in bytes without white space: the parser waits for 512, white space included.
const NAMED: usize = 400;
/// Shapes of a turn that have calls, and those that have an answer by a schema.
const CALLS: [&str; 3] = ["forced", "free", "either"];
const ANSWERS: [&str; 2] = ["answer", "either"];

/// A template being written.
struct Writer<'a> {
    table: &'a Table,
    lines: Vec<String>,
    /// Shapes that the table hasn't, each with the first reason that was found.
    refused: BTreeMap<&'static str, String>,
}

impl Table {
    /// Text that ends reasoning, if one marker does and nothing else.
    pub(crate) fn reasoning_end(&self) -> Option<String> {
        let first = self.first;
        let is_thought = |(index, field): &(usize, &Field)| {
            matches!(field.kind, Kind::Reasoning) && (first == Some(*index) || !field.open.is_empty())
        };
        let mut thoughts = self.fields.iter().enumerate().filter(is_thought);
        thoughts.find_map(|(index, _)| self.own_end(index)).map(|marker| self.markers.0[marker].clone())
    }

    /// The template. What can't be expressed in the format of this table is refused in it.
    pub(crate) fn template(&self) -> String {
        Writer { table: self, lines: Vec::new(), refused: BTreeMap::new() }.whole()
    }

    /// Whether an opening delimiter of calls may begin a message of JSON.
    pub(super) fn calls_begin_as_json(&self) -> bool {
        let calls = self.fields.iter().filter(|field| !field.kind.is_text());
        let mut triggers = calls.flat_map(|field| &field.open).map(|open| &self.markers.0[open.trigger]);
        self.implicit.is_some() && triggers.any(|literal| literal.starts_with(['{', '[', '"']))
    }
}

impl Writer<'_> {
    fn whole(mut self) -> String {
        if self.table.has_unsupported_anchor {
            self.refuse(&[&CALLS[..], &ANSWERS].concat(), "start_anchor_pattern can't be part of a grammar");
        }
        let anchors = self.table.anchors.iter().map(|anchor| &anchor.pattern);
        let anchor = self.alternatives(anchors.chain(&self.table.plain_anchors), "");
        // Text outside all regions belongs to the field without `open`, and is dropped if there is none.
        let between = match self.table.implicit.map(|implicit| &self.table.fields[implicit].kind) {
            None => format!("gap? (({anchor}) gap?)?"),
            Some(Kind::Content) if self.table.trim.content => "gap?".into(),
            Some(Kind::Reasoning) if self.table.trim.reasoning => "gap?".into(),
            Some(_) => literal(""),
        };
        self.markers("text text", &self.table.active_markers(true));
        self.markers("answer", &self.table.active_markers(false));
        self.rule("between", &between);
        let thoughts = self.thoughts();
        self.rule("before", &format!("({anchor})? {thoughts}"));
        self.calls();
        self.shapes();
        let refused = std::mem::take(&mut self.refused).into_iter();
        let lines = refused.map(|(shape, why)| format!("%refuse {shape} {why}")).chain(self.lines);
        lines.map(|line| line + "\n").collect()
    }

    fn rule(&mut self, name: &str, body: &str) {
        self.lines.push(format!("{name}: {body}"));
    }

    /// A directive about markers.
    fn markers(&mut self, directive: &str, markers: &[usize]) {
        let markers: Vec<String> = markers.iter().map(usize::to_string).collect();
        self.lines.push(format!("%{directive} {}", markers.join(" ")));
    }

    fn refuse(&mut self, shapes: &[&'static str], why: &str) {
        for shape in shapes {
            self.refused.entry(shape).or_insert_with(|| why.to_owned());
        }
    }

    /// Reasoning before anything else.
    fn thoughts(&mut self) -> String {
        let mut all = Vec::new();
        for (index, field) in self.table.fields.iter().enumerate() {
            let is_first = self.table.first == Some(index);
            match field.kind {
                Kind::Reasoning if is_first || !field.open.is_empty() => {}
                _ if is_first => {
                    self.refuse(
                        &[&CALLS[..], &ANSWERS].concat(),
                        "a message without a beginning can't be described",
                    );
                }
                _ => continue,
            }
            let active = field.close.iter().chain(field.open.iter().filter(|_| is_first));
            let active = self.table.with_special_tokens(self.table.triggers(active));
            self.markers(&format!("text thoughts_{index}"), &active);
            let (open, close, rule) =
                (self.any(&field.open), self.any(&field.close), format!("thoughts_{index}"));
            all.push(match (is_first, field.repeats) {
                (true, _) if field.open.is_empty() => format!("{rule} ({close})"),
                // Text before the opening delimiter is reasoning, too.
                (true, _) => format!("{rule} (({open}) {rule})? ({close})"),
                (false, true) => format!("(between ({open}) {rule} ({close}))*"),
                (false, false) => format!("(between ({open}) {rule} ({close}))?"),
            });
        }
        all.join(" ")
    }

    /// What comes behind reasoning.
    fn shapes(&mut self) {
        let message = self.table.message();
        let delimited = message.filter(|message| !message.open.is_empty());
        let around = |text: &str| match delimited {
            Some(message) => format!("({}) {text} ({})", self.any(&message.open), self.any(&message.close)),
            None => text.to_owned(),
        };
        let answer = around(if self.table.trim.content { "gap? answer gap?" } else { "answer" });
        // Text around calls belongs to a message without delimiters: the shape that hosts write by themselves.
        let free = (message.is_none() || delimited.is_some()).then(|| {
            let often = delimited.map_or("?", |message| if message.repeats { "*" } else { "?" });
            let message = message.map_or(String::new(), |_| format!("(between {}){often}", around("text")));
            format!("{message} (between calls)? between")
        });
        if message.is_none() {
            self.refuse(&ANSWERS, "the table has no field for a message");
        } else if self.table.calls_begin_as_json() {
            self.refuse(&["either"], "in this format a message of JSON beside tools looks like a call");
        }
        self.rule("forced", "between calls between");
        self.rule("answer", &format!("between {answer} between"));
        self.rule("either", &format!("between ({answer} | calls) between"));
        if let Some(free) = free {
            self.rule("free", &free);
        }
    }

    /// The turn's calls.
    fn calls(&mut self) {
        let Some(field) = self.table.fields.iter().find(|field| !field.kind.is_text()) else {
            return self.refuse(&CALLS, "the table has no calls");
        };
        let close = self.any(&field.close);
        let mut more = "between";
        let is_listed = matches!(field.kind, Kind::Objects { listed: true, .. });
        match &field.kind {
            Kind::Objects { path, .. } if !path.is_empty() => {
                self.refuse(&CALLS, "calls inside another object can't be described");
            }
            Kind::Dialect { .. } => self.refuse(&CALLS, "arguments in a dialect of JSON can't be described"),
            Kind::Objects { name, arguments, .. } => {
                let [name, arguments] = [name, arguments].map(|key| literal(key));
                let (head, then) = (literal(&format!("{{{name}: ")), literal(&format!(", {arguments}: ")));
                let (open, object) =
                    (self.any(&field.open), format!("{head} json_name {then} arguments \"}}\""));
                if is_listed {
                    more = "gap? \",\" gap?";
                    self.rule(
                        "section",
                        &format!("({open}) gap? \"[\" gap? calls gap? \"]\" gap? ({close})"),
                    );
                    self.rule("call", &object);
                } else {
                    self.rule("call", &format!("({open}) gap? {object} gap? ({close})"));
                }
            }
            Kind::Named(parameter) => {
                let arguments = if parameter.is_some() { "gap? parameters" } else { "gap? arguments gap?" };
                let opens = self.alternatives(field.open.iter().map(|open| &open.pattern), "name");
                self.rule("call", &format!("({opens}) {arguments} ({close})"));
                self.names(&field.open);
                if let Some(parameter) = parameter {
                    self.parameters(field, parameter);
                }
            }
            Kind::Content | Kind::Reasoning => {}
        }
        let ends = self.table.triggers([]);
        if !matches!(field.kind, Kind::Named(Some(_))) && !ends.is_empty() {
            self.markers("tokens", &ends);
        }
        if !field.repeats && !is_listed {
            self.lines.push("%single".into());
        }
        self.rule("more", more);
    }

    fn parameters(&mut self, field: &Field, parameter: &Parameter) {
        if !parameter.has_any_keys() {
            self.refuse(&CALLS, "the keys of this table's parameters can't be described");
        }
        self.markers("value", &self.table.triggers(field.close.iter().chain(parameter.least_ends())));
        let line = if parameter.spaced { "\"\\n\"" } else { "" };
        let (key, end) =
            (self.pattern(&parameter.keys[0].pattern, "key"), self.pattern(&parameter.ends[0].pattern, ""));
        self.rule("raw", &format!("{key} {line} value {end} gap?"));
        let before_end = if parameter.trimmed { "\"\\n\"" } else { "" };
        self.rule("json", &format!("{key} {line} value {before_end} {end} gap?"));
    }

    /// The names that the parser finds in all of these delimiters.
    fn names(&mut self, opens: &[Delimiter]) {
        let (mut most, mut classes) = (NAMED, Vec::new());
        for Pattern(pieces) in opens.iter().map(|open| &open.pattern) {
            let texts = |pieces: &[Piece]| -> Vec<String> {
                let texts = pieces.iter().filter_map(|piece| match piece {
                    Piece::Literal(text) => Some(text.clone()),
                    _ => None,
                });
                texts.collect()
            };
            most = most.min(NAMED.saturating_sub(texts(pieces).concat().len()));
            let run = pieces.iter().position(|piece| matches!(piece, Piece::Run { group: Some(_), .. }));
            if let Some(at) = run
                && let Piece::Run { except, word, .. } = &pieces[at]
            {
                // What follows the name ends it, and so does a line.
                let next = texts(&pieces[at + 1..]).concat().chars().next();
                let without: String = except.chars().chain(next).chain(['\n']).map(escaped).collect();
                classes.push(if *word {
                    r"[\p{Alphabetic}\p{N}_]".to_owned()
                } else {
                    format!("[^{without}]")
                });
            }
        }
        if !classes.is_empty() {
            self.lines.push(format!("%name {} /[{}]/", most.max(1), classes.join("&&")));
        }
    }

    /// One of these delimiters.
    fn any(&self, delimiters: &[Delimiter]) -> String {
        self.alternatives(delimiters.iter().map(|delimiter| &delimiter.pattern), "")
    }

    fn alternatives<'a>(&self, patterns: impl IntoIterator<Item = &'a Pattern>, group: &str) -> String {
        let all: Vec<String> = patterns.into_iter().map(|pattern| self.pattern(pattern, group)).collect();
        if all.is_empty() { literal("") } else { all.join(" | ") }
    }

    /// A pattern as a Lark expression, with `group` in place of the pattern's group.
    fn pattern(&self, pattern: &Pattern, group: &str) -> String {
        let markers = &self.table.markers.0;
        let part = |part: &str| match markers.iter().position(|marker| marker == part) {
            Some(index) => format!("marker_{index}"),
            None => literal(part),
        };
        let mut words = Vec::new();
        for piece in &pattern.0 {
            match piece {
                Piece::Literal(text) => words.extend(parts(text).map(part)),
                Piece::Space => words.push("gap?".into()),
                Piece::Run { group: Some(_), .. } => words.push(group.to_owned()),
                Piece::Run { .. } | Piece::Edge(_) | Piece::Boundary => {}
            }
        }
        if matches!(pattern.0.last(), Some(Piece::Run { .. })) {
            words.push("\"\\n\"".into());
        }
        words.join(" ")
    }
}

/// A text as a Lark string, which is a JSON string.
fn literal(text: &str) -> String {
    let mut inside = String::new();
    escape(text, &mut inside);
    format!("\"{inside}\"")
}

/// A character in a set of a regular expression.
fn escaped(char: char) -> String {
    match char {
        '\n' => "\\n".into(),
        '\r' => "\\r".into(),
        '\t' => "\\t".into(),
        _ if char.is_ascii_control() => format!("\\x{:02x}", u32::from(char)),
        '\\' | '[' | ']' | '^' | '-' | '&' | '~' => format!("\\{char}"),
        _ => char.into(),
    }
}
