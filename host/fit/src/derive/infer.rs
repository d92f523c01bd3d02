//! Infers a format from the text between the places of probes.

use super::align::{common_end, common_end_of, common_start, first_tag, last_tag};
use super::format::{Arguments, Delimiters, DerivedCalls, DerivedFormat, FormatPart, Inferred};
use super::generate::call_order;
use super::joints::Joints;
use super::point::{COUNTER, Point, Type};
use super::refusal::Underivable;
use super::seen;

/// Types of values whose delimiters are compared.
const TYPES: [Type; 5] = [Type::String, Type::Number, Type::Bool, Type::Object, Type::Array];

/// What is inferred from, and what is known already.
pub(super) struct Inference<'a> {
    pub(super) joints: &'a Joints,
    /// What all turns begin with.
    pub(super) anchor: String,
    /// What generation prompts write behind that.
    pub(super) openings: Vec<String>,
    /// Delimiters of reasoning where turns show none.
    pub(super) reasoning: Option<Inferred<Delimiters>>,
    /// Literals of tokens that end a turn.
    pub(super) ends: Vec<String>,
}

impl Inference<'_> {
    /// The format, all of it only seen.
    pub(super) fn format(mut self) -> Result<DerivedFormat, Underivable> {
        let order = call_order(self.joints);
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else {
            return Err(Underivable::new("one-argument", "calls are never shown"));
        };
        let reasoning = self.reasoning(first).map(seen).or(self.reasoning.take());
        let marks = reasoning.as_ref().map(|field| &field.value);
        let behind = |text: &str| marks.map_or(text, |marks| behind_empty(text, marks)).to_owned();
        let to_call = [Point::Start, Point::Reasoning, Point::Text].map(|from| self.joints.text(from, first));
        let to_call: Vec<String> = to_call.into_iter().flatten().map(behind).collect();
        let to_call: Vec<&str> = to_call.iter().map(String::as_str).collect();
        let head = common_end_of(&to_call);
        let content = self.content(marks, first, head);
        let turn_end = self.turn_end(last);
        let calls = self.calls(&order, head, last, &turn_end)?;
        if !turn_end.trim().is_empty() {
            let token = first_tag(&turn_end).unwrap_or(&turn_end).trim().to_owned();
            self.ends.retain(|end| *end != token);
            self.ends.insert(0, token);
        }
        Ok(DerivedFormat {
            anchor: self.anchor,
            openings: self.openings,
            reasoning,
            content: seen(content),
            calls: seen(calls),
            ends: self.ends,
        })
    }

    /// The delimiters of reasoning, without white space around them.
    fn reasoning(&mut self, first: Point) -> Option<Delimiters> {
        let mut open = self.joints.text(Point::Start, Point::Reasoning)?.trim().to_owned();
        if open.is_empty() {
            open = self.opened()?;
        }
        let [to_text, to_call] = [Point::Text, first].map(|to| self.joints.text(Point::Reasoning, to));
        let close = match (to_text, to_call) {
            (Some(text), Some(call)) => match common_start(text, call).trim() {
                "" => first_tag(text).unwrap_or(text),
                close => close,
            },
            (Some(only), None) | (None, Some(only)) => first_tag(only).unwrap_or(only),
            (None, None) => return None,
        };
        Some(Delimiters { open, close: close.trim().to_owned() })
    }

    /// What the generation prompt writes to open reasoning.
    fn opened(&mut self) -> Option<String> {
        let opens =
            |opening: &&str| !opening.is_empty() && !opening.starts_with("</") && !opening.starts_with("[/");
        let rest = self.openings.iter().map(|opening| opening.trim()).find(opens);
        if let Some(rest) = rest {
            return Some(last_tag(rest).unwrap_or(rest).to_owned());
        }
        let tag = last_tag(&self.anchor)?.trim().to_owned();
        let at = self.anchor.rfind(&tag).filter(|at| !self.anchor[..*at].trim().is_empty())?;
        let tail = self.anchor.split_off(at);
        self.openings.iter_mut().for_each(|opening| opening.insert_str(0, &tail));
        Some(tag)
    }

    /// The delimiters of the text.
    fn content(&self, reasoning: Option<&Delimiters>, first: Point, head: &str) -> Delimiters {
        let start = self.joints.text(Point::Start, Point::Text).unwrap_or_default();
        let start = reasoning.map_or(start, |marks| behind_empty(start, marks)).trim();
        // A text that the prompt's opening makes reasoning has no delimiter of its own.
        let start = if reasoning.is_some_and(|marks| marks.open == start) { "" } else { start };
        let behind_reasoning = self.joints.text(Point::Reasoning, Point::Text);
        let open = behind_reasoning.map_or(start, |text| common_end(start, text.trim_end()));
        let to_end = self.joints.text(Point::Text, Point::End).unwrap_or_default();
        let to_call =
            self.joints.text(Point::Text, first).map(|text| text.strip_suffix(head).unwrap_or(text));
        let close = match to_call {
            Some(to_call) => common_start(to_end.trim_start(), to_call.trim_start()),
            None if open.is_empty() => "",
            None => first_tag(to_end).unwrap_or_default(),
        };
        Delimiters { open: open.trim().to_owned(), close: close.trim().to_owned() }
    }

    /// What stands at the end of all turns.
    fn turn_end(&self, last: Point) -> String {
        let last = if last == Point::Name { Point::Value(Type::String) } else { last };
        let ends = [Point::Text, last].map(|from| self.joints.text(from, Point::End));
        match ends {
            [Some(text), Some(call)] => common_end(text.trim_end(), call.trim_end()).to_owned(),
            _ => String::new(),
        }
    }

    fn calls(
        &self,
        order: &[Point],
        head: &str,
        last: Point,
        turn_end: &str,
    ) -> Result<DerivedCalls, Underivable> {
        let first = order[0];
        let (last, tagged) = match last {
            Point::Name if !order.contains(&Point::Arguments) => {
                (Point::Value(Type::String), Some(self.tagged()?))
            }
            last => (last, None),
        };
        let value_end = tagged.as_ref().map_or("", |(_, end)| end.as_str());
        let tail = |is_later| {
            let tail = self.joints.get(last, Point::End, is_later).map(|(_, joint)| joint.text.as_str());
            let tail = tail.unwrap_or_default();
            let tail = tail.strip_prefix(value_end).unwrap_or(tail);
            tail.trim_end().strip_suffix(turn_end).unwrap_or(tail).to_owned()
        };
        let (tail, later_tail) = (tail(false), tail(true));
        let tail = if later_tail.len() > tail.len() { later_tail } else { tail };
        let gap = self.joints.get(last, first, true).map(|(_, joint)| joint.text.as_str());
        let gap = gap.map(|gap| gap.strip_prefix(value_end).unwrap_or(gap));
        let (unit_open, unit_close, separator) = match gap {
            None => (head, tail.as_str(), None),
            Some(gap) => {
                let open = common_end(head, gap);
                let rest = &gap[..gap.len() - open.len()];
                let close = common_start(&tail, rest);
                (open, close, Some(rest[close.len()..].to_owned()))
            }
        };
        let section = Delimiters {
            open: head[..head.len() - unit_open.len()].to_owned(),
            close: tail[unit_close.len()..].to_owned(),
        };
        let arguments = tagged.map_or(Arguments::Json, |(arguments, _)| arguments);
        let unit = [parts(unit_open), self.inner(order, &arguments), parts(unit_close)].concat();
        Ok(DerivedCalls { section, unit, separator, arguments })
    }

    /// The parts of a call from the first to the last place in it.
    fn inner(&self, order: &[Point], arguments: &Arguments) -> Vec<FormatPart> {
        let mut inner = Vec::new();
        for (index, point) in order.iter().enumerate() {
            inner.push(match point {
                Point::Name => FormatPart::Name,
                Point::Id => FormatPart::Id,
                _ => FormatPart::Arguments,
            });
            if let Some(next) = order.get(index + 1) {
                inner.extend(parts(self.joints.text(*point, *next).unwrap_or_default()));
            }
        }
        if *arguments != Arguments::Json {
            inner.extend(parts(&self.before_keys(arguments)));
            inner.push(FormatPart::Arguments);
        }
        inner
    }

    /// Text between a tool's name and its parameters.
    fn before_keys(&self, arguments: &Arguments) -> String {
        let before = self.joints.text(Point::Name, Point::Key).unwrap_or_default();
        match arguments {
            Arguments::Tagged { key, .. } => before.strip_suffix(key.as_str()).unwrap_or(before).to_owned(),
            _ => before.to_owned(),
        }
    }

    /// How parameters are written, and the end of a value.
    fn tagged(&self) -> Result<(Arguments, String), Underivable> {
        let text = |from, to| self.joints.text(from, to);
        let before = text(Point::Name, Point::Key).unwrap_or_default();
        let string = Point::Value(Type::String);
        let Some(between) = text(string, Point::Key) else {
            return Err(Underivable::new("two-arguments", "two parameters aren't shown"));
        };
        let middles = TYPES.map(|kind| text(Point::Key, Point::Value(kind))).into_iter().flatten();
        let middles = distinct(middles.map(str::to_owned).collect());
        if before.trim() == "(" && middles == ["="] {
            return Ok((Arguments::Keywords, String::new()));
        }
        let mut key = common_end(before, between);
        if key.trim().is_empty() {
            key = "";
        }
        let ends: Vec<(String, String)> = TYPES
            .into_iter()
            .filter_map(|kind| {
                let from = Point::Value(kind);
                let (next, end) =
                    (text(from, Point::Key)?, text(from, Point::End).or_else(|| text(from, Point::Name)));
                let next = next.strip_suffix(key).unwrap_or(next);
                let close = end.map_or(next, |end| common_start(next, end));
                Some((close.to_owned(), next[close.len()..].to_owned()))
            })
            .collect();
        let separator = ends.first().map(|(_, rest)| rest.clone()).unwrap_or_default();
        let ends = distinct(ends.into_iter().map(|(end, _)| end).collect());
        let end = ends.first().cloned().unwrap_or_default();
        Ok((Arguments::Tagged { key: key.to_owned(), middles, ends, separator }, end))
    }
}

fn distinct(texts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in texts {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept
}

/// The text behind an empty block of reasoning.
fn behind_empty<'a>(text: &'a str, marks: &Delimiters) -> &'a str {
    let begin = text.trim_start();
    let inner =
        if marks.open.is_empty() { Some(begin) } else { begin.strip_prefix(&marks.open).or(Some(begin)) };
    let inner = inner.and_then(|inner| inner.trim_start().strip_prefix(&marks.close));
    inner.filter(|_| !marks.close.is_empty()).unwrap_or(text)
}

/// A text as parts, with its counters.
fn parts(text: &str) -> Vec<FormatPart> {
    let mut parts = Vec::new();
    for (index, literal) in text.split(COUNTER).enumerate() {
        if index > 0 {
            parts.push(FormatPart::Counter);
        }
        if !literal.is_empty() {
            parts.push(FormatPart::Literal(literal.to_owned()));
        }
    }
    parts
}
