//! The arguments of a call whose parser names them value by value: keys, separators and brackets
//! are written here.
//!
//! Invariant: what is written is a prefix of the call's final JSON, whatever the parser says, and
//! no place is written twice. A value that is a string goes out as it comes; one that may be
//! something else waits until that is excluded, or for its end.

mod repeated;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::repeated::Repeated;
use super::value::Value;
use crate::step_error::StepError;
use crate::values::Schema;
use contract::json_text::escape;
use contract::{ParameterValue, Payload, Segment, Tool, Types};

/// Most steps of a place.
const DEPTH: usize = 64;
/// The parameter that carries the input of a custom tool.
const INPUT: &str = "input";

/// Writer of one call's values.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// The declared tools, and which of them is called; a tool that isn't declared has strings
    /// alone.
    tools: Arc<[Tool]>,
    tool: Option<usize>,
    /// Whether the arguments are plain text.
    is_text: bool,
    /// Whether a value that is left out breaks the call, whatever the reason.
    keeps_values: bool,
    /// The tool's schema, once a place inside a value was asked for.
    schema: Option<Schema>,
    /// Places that have been written, lists and objects among them.
    written: BTreeSet<Vec<Segment>>,
    /// Objects and lists that are open, from the arguments themselves on.
    open: Vec<Container>,
    /// Place of the innermost of them.
    inner: Vec<Segment>,
    /// Place of the open value.
    place: Vec<Segment>,
    value: Option<Value>,
    repeated: Repeated,
    has_misfit: bool,
}

/// Whether a value has its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// The value is to be written.
    Fits,
    /// The place was written before, what is around it is closed, or plain text has no such place.
    Written,
    /// What is around it is of the other kind.
    Misfit,
}

/// An open object or list.
#[derive(Debug)]
struct Container {
    is_list: bool,
    members: u32,
}

impl Parameters {
    /// Writer of a call of `name`, one of `tools` or not.
    /// A value that is left out breaks the call if it `keeps_values`, and otherwise only where what
    /// is around it is of the other kind.
    pub(super) fn new(tools: Arc<[Tool]>, name: &str, payload: Payload, keeps_values: bool) -> Self {
        let tool = tools.iter().position(|tool| tool.name == name);
        Self { tools, tool, is_text: payload == Payload::Text, keeps_values, ..Self::default() }
    }

    /// Whether a value is open.
    pub(super) fn has_value(&self) -> bool {
        self.value.is_some()
    }

    /// Whether a value was left out that the call can't be whole without.
    pub(super) fn has_misfit(&self) -> bool {
        self.has_misfit
    }

    /// Number of bytes that wait for the value's end.
    pub(super) fn waiting(&self) -> usize {
        self.value.as_ref().map_or(0, Value::waiting)
    }

    /// Ends the open value and begins another one.
    pub(super) fn begin(&mut self, next: ParameterValue, out: &mut String) -> Result<(), StepError> {
        let ParameterValue { path, reading } = next;
        if !(1..=DEPTH).contains(&path.len()) {
            return Err(StepError::Place);
        }
        let path = self.decided(path);
        if path.starts_with(&self.place)
            && let Some(inside) = path.get(self.place.len())
            && self.value.as_ref().is_some_and(Value::is_blank)
        {
            self.value = None;
            self.open_container(inside, out);
            self.inner.clone_from(&self.place);
        }
        self.end(out);
        let path = self.of_repeated(path, out);
        let fit = if self.is_text { self.fits_input(&path) } else { self.open_around(&path, out)? };
        self.has_misfit |= fit == Fit::Misfit || (fit == Fit::Written && self.keeps_values);
        let value = match (fit, self.is_text) {
            (Fit::Fits, true) => Value::Raw,
            (Fit::Fits, false) => Value::begin(self.types(&path), reading),
            _ => Value::LeftOut,
        };
        (self.place, self.value) = (path, Some(value));
        Ok(())
    }

    /// Takes more text of the open value.
    pub(super) fn text(&mut self, text: &str, out: &mut String) {
        if let Some(value) = &mut self.value {
            value.text(text, out);
        }
    }

    /// Ends the open value.
    pub(super) fn end(&mut self, out: &mut String) {
        let Some(value) = self.value.take() else { return };
        match value.item() {
            Some(item) => self.repeated.item = Some(item.to_owned()),
            None => value.end(out),
        }
    }

    /// Ends the arguments. Those that lack a value stay open, so that nobody takes them for whole.
    pub(super) fn close(&mut self, out: &mut String) {
        self.end(out);
        self.end_item(out);
        if !self.has_misfit {
            self.close_to(0, out);
        }
    }

    /// Whether the value at `path` is the input of a call of plain text, and the first.
    fn fits_input(&mut self, path: &[Segment]) -> Fit {
        let is_input = matches!(path, [Segment::Key(key)] if key == INPUT);
        if is_input && self.written.insert(path.to_vec()) { Fit::Fits } else { Fit::Written }
    }

    /// The path with members and items alone: a step that may be either is what the value around it
    /// is, or what the schema wants.
    fn decided(&mut self, path: Vec<Segment>) -> Vec<Segment> {
        let mut decided = Vec::with_capacity(path.len());
        for segment in path {
            decided.push(match segment {
                Segment::Element { index, .. } if self.is_list(&decided) => Segment::Item(index),
                Segment::Element { name, .. } => Segment::Key(name),
                segment => segment,
            });
        }
        decided
    }

    /// Whether the value at `place` is a list, or is to be one.
    fn is_list(&mut self, place: &[Segment]) -> bool {
        if let (true, Some(container)) = (self.inner.starts_with(place), self.open.get(place.len())) {
            return container.is_list;
        }
        let types = if place.is_empty() { Types::OBJECT } else { self.types(place) };
        types.allows(Types::ARRAY) || !types.allows(Types::OBJECT)
    }

    /// Opens what is around `path`, and writes what stands before its value, if the value has its
    /// place.
    fn open_around(&mut self, path: &[Segment], out: &mut String) -> Result<Fit, StepError> {
        let parents = &path[..path.len() - 1];
        let common = self.inner.iter().zip(parents).take_while(|(open, parent)| open == parent).count();
        if !self.fits_kinds(path, common) {
            return Ok(Fit::Misfit);
        }
        if (common + 1..=path.len()).any(|length| self.written.contains(&path[..length])) {
            return Ok(Fit::Written);
        }
        self.check_items(path, common)?;
        if self.open.is_empty() {
            self.open_container(&path[0], out);
        }
        self.close_to(common + 1, out);
        for (at, segment) in path.iter().enumerate().skip(common) {
            self.written.insert(path[..=at].to_vec());
            self.member(segment, out);
            if let Some(next) = path.get(at + 1) {
                self.open_container(next, out);
            }
        }
        self.inner = parents.to_vec();
        Ok(Fit::Fits)
    }

    /// Whether the way to `path`, of which the first `common` steps are open, leads through objects
    /// by keys and through lists by items.
    fn fits_kinds(&self, path: &[Segment], common: usize) -> bool {
        path.iter().enumerate().take(common + 1).all(|(at, segment)| {
            let is_list = self.open.get(at).is_some_and(|container| container.is_list);
            is_list == matches!(segment, Segment::Item(_))
        })
    }

    /// Checks that no list gets an item beyond its next one.
    fn check_items(&self, path: &[Segment], common: usize) -> Result<(), StepError> {
        let goes_on = path.iter().enumerate().skip(common).all(|(at, segment)| match segment {
            Segment::Item(item) => {
                let list = self.open.get(at).filter(|_| at == common);
                *item <= list.map_or(0, |list| list.members)
            }
            _ => true,
        });
        if goes_on { Ok(()) } else { Err(StepError::Place) }
    }

    fn open_container(&mut self, first: &Segment, out: &mut String) {
        let is_list = matches!(first, Segment::Item(_));
        out.push(if is_list { '[' } else { '{' });
        self.open.push(Container { is_list, members: 0 });
    }

    /// Closes all but the `keep` outermost containers.
    fn close_to(&mut self, keep: usize, out: &mut String) {
        let closed = self.open.drain(keep.min(self.open.len())..).rev();
        out.extend(closed.map(|container| if container.is_list { ']' } else { '}' }));
    }

    /// Writes what stands before a member of the innermost container.
    fn member(&mut self, segment: &Segment, out: &mut String) {
        let Some(container) = self.open.last_mut() else { return };
        if container.members > 0 {
            out.push_str(", ");
        }
        container.members += 1;
        if let Segment::Key(key) = segment {
            out.push('"');
            escape(key, out);
            out.push_str("\": ");
        }
    }

    /// Types that the value at this place may have.
    fn types(&mut self, path: &[Segment]) -> Types {
        let Some(tool) = self.tool.map(|at| &self.tools[at]) else { return Types::STRING };
        if let [Segment::Key(key)] = path {
            let listed = tool.parameters.iter().find(|parameter| parameter.name == *key);
            let types = listed.map_or(tool.others, |parameter| parameter.types);
            return if types == Types::NONE { Types::STRING } else { types };
        }
        self.schema.get_or_insert_with(|| Schema::parse(&tool.schema)).types_at(path)
    }
}
