//! Finds what a probe says in the turn that a template wrote of it.

use serde_json::{Map, Value};

use crate::probes::Probe;

use super::point::{Point, Type};
use super::refusal::Underivable;
use super::spelling::{find_value, json_at};

/// A place of a turn: what stands there, of which call, from where to where.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbePlace {
    pub(super) point: Point,
    pub(super) call: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The places of a probe in its turn, in order.
pub(super) fn locate(probe: &Probe, whole: &str) -> Result<Vec<ProbePlace>, Underivable> {
    let mut finder = Finder { probe, whole, at: 0, places: Vec::new() };
    for (point, prose) in [(Point::Reasoning, probe.reasoning), (Point::Text, probe.text)] {
        if let Some(prose) = prose {
            finder.prose(point, prose)?;
        }
    }
    for (call, (name, arguments)) in probe.calls.iter().enumerate() {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        finder.call(call, name, &arguments)?;
    }
    finder.places.sort_by_key(|place| place.start);
    Ok(finder.places)
}

struct Finder<'a> {
    probe: &'a Probe,
    whole: &'a str,
    at: usize,
    places: Vec<ProbePlace>,
}

impl Finder<'_> {
    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, Underivable> {
        Err(Underivable::new(&self.probe.name, reason))
    }

    fn rest(&self) -> &str {
        &self.whole[self.at..]
    }

    fn push(&mut self, point: Point, call: usize, start: usize, end: usize) {
        self.places.push(ProbePlace { point, call, start, end });
        self.at = self.at.max(end);
    }

    fn prose(&mut self, point: Point, prose: &str) -> Result<(), Underivable> {
        let Some(at) = self.rest().find(prose) else {
            return self.refuse(format!("{} isn't written as it is", point.name()));
        };
        let start = self.at + at;
        self.push(point, 0, start, start + prose.len());
        Ok(())
    }

    fn call(&mut self, call: usize, name: &str, arguments: &Map<String, Value>) -> Result<(), Underivable> {
        let begin = self.at;
        let Some(at) = self.rest().find(name) else {
            return self.refuse("a call's name isn't written as it is");
        };
        let name_at = begin + at;
        self.push(Point::Name, call, name_at, name_at + name.len());
        let next = self.probe.calls.get(call + 1).and_then(|(next, _)| self.rest().find(next));
        let limit = next.map_or(self.whole.len(), |at| self.at + at);
        let all = Value::Object(arguments.clone());
        let json = |from: usize, to: usize| {
            let places = self.whole[from..to].match_indices('{').map(|(at, _)| from + at);
            places
                .filter_map(|at| Some((at, json_at(&self.whole[at..])?)))
                .find(|(_, (found, _))| *found == all)
        };
        match json(self.at, limit).or_else(|| json(begin, name_at)) {
            Some((start, (_, bytes))) => self.push(Point::Arguments, call, start, start + bytes),
            None if self.whole[self.at..limit].contains("{\\\"") => {
                return self.refuse("arguments are JSON inside a JSON string");
            }
            None => self.parameters(call, arguments, limit)?,
        }
        self.id(call, begin);
        Ok(())
    }

    /// The id of a call, which stands before or behind its other parts.
    fn id(&mut self, call: usize, begin: usize) {
        // Behind an earlier call the ids begin at the next number.
        for id in [call, call + 1].map(|index| format!("qcall{index:04}")) {
            let Some(start) = self.whole[begin..].find(&id).map(|at| begin + at) else { continue };
            if !self.places.iter().any(|place| (place.start..place.end).contains(&start)) {
                return self.push(Point::Id, call, start, start + id.len());
            }
        }
    }

    fn parameters(
        &mut self,
        call: usize,
        arguments: &Map<String, Value>,
        limit: usize,
    ) -> Result<(), Underivable> {
        let mut keys = arguments.keys().skip(1);
        for (key, value) in arguments {
            let next = keys.next().and_then(|next| self.whole[self.at..limit].find(next.as_str()));
            self.parameter(call, key, value, next.map_or(limit, |at| self.at + at))?;
        }
        Ok(())
    }

    /// Finds a parameter, which ends before `limit`.
    fn parameter(&mut self, call: usize, key: &str, value: &Value, limit: usize) -> Result<(), Underivable> {
        let Some(at) = self.whole[self.at..limit].find(key) else {
            return self.refuse("arguments aren't written as JSON, and a parameter's key isn't written");
        };
        let start = self.at + at;
        self.push(Point::Key, call, start, start + key.len());
        let kind = Type::of(value);
        let is_nested = matches!(kind, Type::Object | Type::Array);
        let rest = &self.whole[self.at..limit];
        let found = match value {
            Value::String(text) => self.string(text, limit),
            _ => find_value(rest, value).map(|(start, end)| (self.at + start, self.at + end)),
        };
        let Some((start, end)) = found else {
            return self.refuse(if is_nested {
                "nested typed values: a list or an object isn't written as JSON"
            } else {
                "a parameter's value isn't written as it is"
            });
        };
        if rest.contains(key) {
            return self.refuse("keys as tag names: a parameter's key is written around its value");
        }
        let is_keyword = self.whole[..start].ends_with('=');
        if is_nested && !is_keyword && json_at(&self.whole[start..]).is_none() {
            return self.refuse("nested typed values: lists and objects are printed as Python prints them");
        }
        self.push(Point::Value(kind), call, start, end);
        Ok(())
    }

    /// A string as it is, with the quotes around it.
    fn string(&self, text: &str, limit: usize) -> Option<(usize, usize)> {
        let start = self.at + self.whole[self.at..limit].find(text)?;
        let end = start + text.len();
        let (before, behind) = (self.whole[..start].chars().next_back(), self.whole[end..].chars().next());
        let is_quoted = before == behind && matches!(before, Some('"' | '\''));
        Some(if is_quoted { (start - 1, end + 1) } else { (start, end) })
    }
}
