//! The template of the grammars of a table's turns: reasoning, then the message or calls.
//!
//! Delimiters are written as the table's patterns have them, without unnamed runs (`spelling`). A
//! message contains no marker that opens another region or closes the message. What ends the turn
//! counts inside the strings of calls, too, so there it has to be a token.

use super::spelling::literal;
use super::writer::{CALLS, Writer, filled};
use super::{Field, Kind, Table};

const ANSWERS: [&str; 2] = ["answer", "either"];
/// A call in Python.
const PYTHON: &str = r#"%name 64 /[A-Za-z0-9_.:-]/
%key 64 /[^\x00-,\/:-@\[-\^`{-\x7f]/
call: name "(" parameters ")"
comma: ", "
parameter: key "=" value
object: "{" members "}"
pair: json_key ": " value
list: "[" items "]"
true: "True"
false: "False"
null: "None"
"#;

impl Table {
    /// Text that ends reasoning, if one marker does and nothing else.
    pub(crate) fn reasoning_end(&self) -> Option<String> {
        let first = self.first;
        let is_thought = |(index, field): &(usize, &Field)| {
            matches!(field.kind, Kind::Reasoning) && (first == Some(*index) || !field.open.is_empty())
        };
        let mut thoughts = self.fields.iter().enumerate().filter(is_thought);
        thoughts.find_map(|(index, _)| self.own_end(index)).map(|marker| self.markers.0[marker].to_string())
    }

    /// The template. What can't be expressed in the format of this table is refused in it.
    pub(crate) fn template(&self) -> String {
        let mut writer = Writer::new(self);
        writer.whole();
        writer.text
    }

    /// Whether an opening delimiter of calls may begin a message of JSON.
    pub(super) fn calls_begin_as_json(&self) -> bool {
        let calls = self.fields.iter().filter(|field| !field.kind.is_text());
        let mut triggers = calls.flat_map(|field| &field.open).map(|open| &self.markers.0[open.trigger]);
        self.implicit.is_some() && triggers.any(|literal| literal.starts_with(['{', '[', '"']))
    }
}

impl Writer<'_> {
    fn whole(&mut self) {
        if self.table.has_unsupported_anchor {
            self.refuse_all("start_anchor_pattern can't be part of a grammar");
        }
        let anchor = self.anchor();
        // Text outside all regions belongs to the field without `open`; white space is dropped if
        // there is none.
        let between = match self.table.implicit.map(|implicit| &self.table.fields[implicit].kind) {
            None => &["gap? ((", &self.any(&self.table.anchors, ""), ") gap?)?"].concat(),
            Some(Kind::Content) if self.table.trim.content => "gap?",
            Some(Kind::Reasoning) if self.table.trim.reasoning => "gap?",
            Some(_) => "\"\"",
        };
        self.markers("text text", &self.table.active_markers(true));
        self.markers("answer", &self.table.active_markers(false));
        self.line("between: $", &[between]);
        let thoughts = self.thoughts();
        self.line("before: ($)? $", &[&anchor, &thoughts]);
        self.calls();
        self.shapes();
    }

    /// A directive about markers.
    pub(super) fn markers(&mut self, directive: &str, markers: &[usize]) {
        self.text.push('%');
        self.text.push_str(directive);
        for marker in markers {
            self.text.push(' ');
            self.text.push_str(&marker.to_string());
        }
        self.text.push('\n');
    }

    fn refuse_all(&mut self, why: &str) {
        self.refuse(&CALLS, why);
        self.refuse(&ANSWERS, why);
    }

    /// Reasoning before anything else.
    fn thoughts(&mut self) -> String {
        let mut all = String::new();
        for (index, field) in self.table.fields.iter().enumerate() {
            let is_first = self.table.first == Some(index);
            match field.kind {
                Kind::Reasoning if is_first || !field.open.is_empty() => {}
                _ if is_first => self.refuse_all("a message without a beginning can't be described"),
                _ => continue,
            }
            let opens = if is_first { &field.open[..] } else { &[] };
            let mut active = self.table.triggers(&[&field.close, opens]);
            active.extend(self.table.call_triggers());
            let rule = ["thoughts_", &index.to_string()].concat();
            self.markers(&["text ", &rule].concat(), &self.table.with_special_tokens(&active));
            let (open, close) = (self.any(&field.open, ""), self.any(&field.close, ""));
            let line = match (is_first, field.repeats) {
                (true, _) if field.open.is_empty() => filled("$ ($)", &[&rule, &close]),
                // Text before the opening delimiter is reasoning, too.
                (true, _) => filled("$ (($) $)? ($)", &[&rule, &open, &rule, &close]),
                (false, true) => filled("(between ($) $ ($))*", &[&open, &rule, &close]),
                (false, false) => filled("(between ($) $ ($))?", &[&open, &rule, &close]),
            };
            all.push_str(if all.is_empty() { "" } else { " " });
            all.push_str(&line);
        }
        all
    }

    /// What comes behind reasoning.
    fn shapes(&mut self) {
        let message = self.table.message();
        let delimited = message.filter(|message| !message.open.is_empty());
        let (open, close) = delimited.map_or(<(String, String)>::default(), |message| {
            let [open, close] = [&message.open, &message.close].map(|ends| self.any(ends, ""));
            (["(", &open, ") "].concat(), [" (", &close, ")"].concat())
        });
        // Text around calls belongs to a message without delimiters: the shape that hosts write by
        // themselves.
        match (message, delimited) {
            (None, _) => self.line("free: (between calls)? between", &[]),
            (Some(_), Some(message)) => {
                let often = if message.repeats { "*" } else { "?" };
                self.line("free: (between $text$)$ (between calls)? between", &[&open, &close, often]);
            }
            (Some(_), None) => {}
        }
        if message.is_none() {
            self.refuse(&ANSWERS, "the table has no field for a message");
        } else if self.table.calls_begin_as_json() {
            self.refuse(&["either"], "in this format a message of JSON beside tools looks like a call");
        }
        let answer = if self.table.trim.content { "gap? answer gap?" } else { "answer" };
        let parts = &[&open, answer, &close][..];
        self.line("forced: between calls between", &[]);
        self.line("answer: between $$$ between", parts);
        self.line("either: between ($$$ | calls) between", parts);
    }

    /// The turn's calls.
    fn calls(&mut self) {
        let Some(field) = self.table.fields.iter().find(|field| !field.kind.is_text()) else {
            return self.refuse(&CALLS, "the table has no calls");
        };
        let is_in_head = matches!(field.kind, Kind::Named(_) | Kind::Lines(_) | Kind::Dialect { .. });
        let group = if is_in_head { "name" } else { "" };
        let (open, close) = (self.any(&field.open, group), self.any(&field.close, ""));
        let mut more = "between";
        match &field.kind {
            Kind::Dialect { bare_keys, strings } => {
                self.line("call: ($) gap? arguments gap? ($)", &[&open, &close]);
                self.names(&field.open);
                self.dialect(field, *bare_keys, strings);
            }
            Kind::Lines(lines) => {
                self.line("call: ($) parameters ($)", &[&open, &close]);
                self.names(&field.open);
                self.lines(field, lines);
            }
            Kind::Python => {
                more = "\", \"";
                self.line("section: ($) gap? \"[\" calls \"]\" gap? ($)", &[&open, &close]);
                self.text.push_str(PYTHON);
            }
            Kind::Objects { path, name, arguments, listed } => {
                let around: String = path.iter().map(|key| filled("{$: ", &[&literal(key)])).collect();
                let (name, arguments) = (literal(name), literal(arguments));
                let head = literal(&filled("${$: ", &[&around, &name]));
                let then = literal(&filled(", $: ", &[&arguments]));
                let end = literal(&"}".repeat(path.len() + 1));
                let object = filled("$ json_name $ arguments $", &[&head, &then, &end]);
                if *listed {
                    more = "gap? \",\" gap?";
                    self.line("section: ($) gap? \"[\" gap? calls gap? \"]\" gap? ($)", &[&open, &close]);
                    self.line("call: $", &[&object]);
                } else {
                    self.line("call: ($) gap? $ gap? ($)", &[&open, &object, &close]);
                }
            }
            Kind::Named(parameter) => {
                let arguments = if parameter.is_some() { "gap? parameters" } else { "gap? arguments gap?" };
                self.line("call: ($) $ ($)", &[&open, arguments, &close]);
                self.names(&field.open);
                if let Some(parameter) = parameter {
                    self.parameters(field, parameter);
                }
            }
            Kind::Content | Kind::Reasoning => {}
        }
        let ends = self.table.triggers(&[]);
        if !matches!(field.kind, Kind::Named(Some(_)) | Kind::Lines(_)) && !ends.is_empty() {
            self.markers("tokens", &ends);
        }
        if !field.repeats && !matches!(field.kind, Kind::Python | Kind::Objects { listed: true, .. }) {
            self.line("%single", &[]);
        }
        self.line("more: $", &[more]);
    }
}
