//! The grammar of a constrained turn as a table describes it: reasoning, then the message or calls.
//!
//! Delimiters are written as the table's patterns have them, without unnamed runs. A message contains no marker that opens another region
//! or closes the message. What ends the turn counts inside the strings of calls, too, so there it has to be a token.

use parser_sdk::Request;
use parser_sdk::grammar::{Callable, Lark, Markers, Spelling, Turn, Value, keyed_json, literal, parameters};

use super::delimiter::parts;
use super::{Delimiter, Field, Kind, Match, Parameter, Pattern, Piece, Table};

/// Longest delimiter with a tool's name in it, in bytes without white space: the parser waits for 512, white space included.
pub(super) const NAMED: usize = 400;

impl Table {
    /// A Lark grammar of the turns that satisfy the request; `None` where the request leaves the model free. See [`parser_sdk::grammar`].
    ///
    /// # Errors
    /// What can't be expressed in the format of this table.
    pub(crate) fn constrain(&self, request: &Request) -> Result<Option<String>, String> {
        let Some(turn) = Turn::of(request)? else { return Ok(None) };
        let lark = Lark::with_active(
            &self.markers.0,
            Markers::Any(&request.token_markers),
            self.active_markers(!turn.tools.is_empty()),
        )?;
        Writer { table: self, turn: &turn, lark }.whole().map(Some)
    }

    /// Indices of the markers that no message contains: those that begin a delimiter that counts there, of calls if the turn may have some,
    /// and those that look like special tokens.
    pub(super) fn active_markers(&self, may_call: bool) -> Vec<usize> {
        let calls = may_call || self.implicit.is_none();
        let opens =
            self.fields.iter().filter(|field| calls || field.kind.is_text()).flat_map(|field| &field.open);
        match self.message().filter(|message| !message.open.is_empty()) {
            Some(delimited) => self.with_special_tokens(self.triggers(&delimited.close)),
            None => self.with_special_tokens(self.triggers(opens)),
        }
    }

    /// Indices of the markers that begin these delimiters or the turn's end.
    pub(super) fn triggers<'a>(&'a self, delimiters: impl IntoIterator<Item = &'a Delimiter>) -> Vec<usize> {
        delimiters.into_iter().chain(self.ends()).map(|delimiter| delimiter.trigger).collect()
    }

    /// Adds to the markers `active` all that look like special tokens, which no message shows.
    pub(super) fn with_special_tokens(&self, active: Vec<usize>) -> Vec<usize> {
        let all = self.markers.0.iter().enumerate();
        let tokens = all.filter(|(_, literal)| literal.len() > 1 && literal.starts_with(['<', '[']));
        let mut triggers: Vec<usize> = tokens.map(|(index, _)| index).chain(active).collect();
        triggers.sort_unstable();
        triggers.dedup();
        triggers
    }

    fn ends(&self) -> &[Delimiter] {
        self.implicit.map_or(&[], |implicit| &self.fields[implicit].close)
    }

    pub(super) fn message(&self) -> Option<&Field> {
        self.fields.iter().find(|field| matches!(field.kind, Kind::Content))
    }
}

/// A grammar being written.
struct Writer<'a> {
    table: &'a Table,
    turn: &'a Turn<'a>,
    lark: Lark,
}

impl Writer<'_> {
    fn whole(mut self) -> Result<String, String> {
        if self.table.has_unsupported_anchor {
            return Err("start_anchor_pattern can't be part of a grammar".into());
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
        self.lark.rule("between", &between);
        let thoughts = self.thoughts()?;
        let body = self.body()?;
        Ok(self.lark.start(&format!("({anchor})? {thoughts} {body}")))
    }

    /// Reasoning before anything else.
    fn thoughts(&mut self) -> Result<String, String> {
        let mut all = Vec::new();
        for (index, field) in self.table.fields.iter().enumerate() {
            let is_first = self.table.first == Some(index);
            match field.kind {
                Kind::Reasoning if is_first || !field.open.is_empty() => {}
                _ if is_first => return Err("a message without a beginning can't be described".into()),
                _ => continue,
            }
            let rule = format!("thoughts_{index}");
            let active = field.close.iter().chain(field.open.iter().filter(|_| is_first));
            self.lark.text(&rule, self.table.with_special_tokens(self.table.triggers(active)))?;
            let (open, close) = (self.any(&field.open), self.any(&field.close));
            if let Some(end) = self.table.own_end(index) {
                let end = self.lark.marker(end);
                self.lark.reasoning_end(&end);
            }
            all.push(match (is_first, field.repeats) {
                (true, _) if field.open.is_empty() => format!("{rule} ({close})"),
                // Text before the opening delimiter is reasoning, too.
                (true, _) => format!("{rule} (({open}) {rule})? ({close})"),
                (false, true) => format!("(between ({open}) {rule} ({close}))*"),
                (false, false) => format!("(between ({open}) {rule} ({close}))?"),
            });
        }
        Ok(all.join(" "))
    }

    /// The message or the calls after reasoning.
    fn body(&mut self) -> Result<String, String> {
        let calls = if self.turn.tools.is_empty() { None } else { Some(self.calls()?) };
        let message = self.table.message();
        let delimited = message.filter(|message| !message.open.is_empty());
        let around = |text: &str| match delimited {
            Some(message) => format!("({}) {text} ({})", self.any(&message.open), self.any(&message.close)),
            None => text.to_owned(),
        };
        Ok(match (self.turn.answer(&self.lark)?, calls) {
            (None, Some(calls)) if self.turn.is_demanded() => format!("between ({calls}) between"),
            (Some(_), _) if message.is_none() => return Err("the table has no field for a message".into()),
            (Some(_), Some(_)) if self.table.calls_begin_as_json() => {
                return Err("in this format a message of JSON beside tools looks like a call".into());
            }
            (Some(json), calls) => {
                let answer =
                    around(&if self.table.trim.content { format!("gap? {json} gap?") } else { json });
                let or_calls = calls.map_or(String::new(), |calls| format!(" | {calls}"));
                format!("between ({answer}{or_calls}) between")
            }
            (None, calls) if message.is_some() && delimited.is_none() => {
                format!("text{}", calls.map_or(String::new(), |calls| format!(" (({calls}) text)?")))
            }
            (None, calls) => {
                let often = delimited.map_or("?", |message| if message.repeats { "*" } else { "?" });
                let message =
                    message.map_or(String::new(), |_| format!("(between {}){often}", around("text")));
                let calls = calls.map_or(String::new(), |calls| format!("(between ({calls}))?"));
                format!("{message} {calls} between")
            }
        })
    }

    /// The turn's calls.
    fn calls(&mut self) -> Result<String, String> {
        let field =
            self.table.fields.iter().find(|field| !field.kind.is_text()).ok_or("the table has no calls")?;
        let (tools, close) = (&self.turn.tools, self.any(&field.close));
        let listed = matches!(field.kind, Kind::Objects { listed: true, .. });
        let call = match &field.kind {
            Kind::Objects { path, .. } if !path.is_empty() => {
                return Err("calls inside another object can't be described".into());
            }
            Kind::Objects { name, arguments, .. } => {
                let object =
                    |tool: &Callable<'_>| keyed_json([name, arguments], &tool.tool.name, &tool.arguments);
                let objects: Result<Vec<String>, String> = tools.iter().map(object).collect();
                self.lark.rule("object", &objects?.join(" | "));
                let body = match (listed, self.turn.several) {
                    (false, _) => "object",
                    (true, false) => "\"[\" gap? object gap? \"]\"",
                    (true, true) => "\"[\" gap? object (gap? \",\" gap? object)* gap? \"]\"",
                };
                format!("({}) gap? {body} gap? ({close})", self.any(&field.open))
            }
            Kind::Named(None) => {
                self.each(field, |tool| Ok(format!("gap? {} gap? ({close})", tool.arguments.json())))?
            }
            Kind::Named(Some(parameter)) => {
                let active = self.table.triggers(field.close.iter().chain(parameter.least_ends()));
                self.lark.text("value", active.iter().copied())?;
                self.each(field, |tool| {
                    Ok(format!("gap? {} ({close})", self.parameters(tool, parameter, &active)?))
                })?
            }
            Kind::Dialect { .. } => return Err("arguments in a dialect of JSON can't be described".into()),
            Kind::Content | Kind::Reasoning => return Err("the table has no calls".into()),
        };
        if !matches!(field.kind, Kind::Named(Some(_))) {
            let ends: Vec<String> =
                self.table.triggers([]).iter().map(|index| format!("token_{index}")).collect();
            self.lark.rule("ends", &ends.join(" "));
        }
        self.lark.rule("call", &call);
        let several = self.turn.several && field.repeats && !listed;
        Ok(if several { "call (between call)*".into() } else { "call".into() })
    }

    /// A call of each tool, with the tool's name in the opening delimiter and `rest` behind it.
    fn each(
        &self,
        field: &Field,
        rest: impl Fn(&Callable<'_>) -> Result<String, String>,
    ) -> Result<String, String> {
        let call = |tool: &Callable<'_>| {
            let name = tool.tool.name.as_str();
            let opens: Vec<&Pattern> =
                field.open.iter().map(|open| &open.pattern).filter(|open| captures(open, name)).collect();
            if opens.is_empty() {
                return Err(format!("tool {name:?}: the name can't be written in this format"));
            }
            let open =
                opens.iter().map(|open| self.pattern(open, &literal(name))).collect::<Vec<_>>().join(" | ");
            Ok(format!("({open}) {}", rest(tool)?))
        };
        Ok(self.turn.tools.iter().map(call).collect::<Result<Vec<_>, String>>()?.join(" | "))
    }

    /// The parameters of a call.
    fn parameters(
        &self,
        tool: &Callable<'_>,
        parameter: &Parameter,
        active: &[usize],
    ) -> Result<String, String> {
        if !parameter.has_any_keys() {
            return Err("the keys of this table's parameters can't be described".into());
        }
        let (line, is_trimmed) = (if parameter.spaced { "\"\\n\"" } else { "" }, parameter.trimmed);
        let (key, end) = (&parameter.keys[0].pattern, self.pattern(&parameter.ends[0].pattern, ""));
        let write = |name: &str, value: &Value<'_>| {
            let value = match value {
                Value::Text(rule) | Value::Input(rule) => (*rule).to_owned(),
                Value::Exactly(text) | Value::Json(text) if is_trimmed => format!("{text} \"\\n\""),
                Value::Exactly(text) | Value::Json(text) => text.clone(),
            };
            format!("{} {line} {value} {end} gap?", self.pattern(key, name))
        };
        parameters(&self.lark, tool, &Spelling { text: "value", markers: active, write: &write })
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
            Some(index) => self.lark.marker(index),
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

/// Whether the parser finds `name` in the opening delimiter that the grammar writes for it.
fn captures(open: &Pattern, name: &str) -> bool {
    let pieces = open.0.iter().map(|piece| match piece {
        Piece::Literal(text) => text.as_str(),
        Piece::Run { group: Some(_), .. } => name,
        _ => "",
    });
    let written: String = pieces.collect();
    let read = Match::Yes(written.len(), Some(name.to_owned()));
    written.len() <= NAMED && open.matches(&format!("{written}\n")) == read
}
