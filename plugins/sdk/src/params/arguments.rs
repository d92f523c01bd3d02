//! The arguments of one call, value by value: the host is told each parameter, and types and writes
//! the text of its value.
//!
//! Invariant: while a value is being read, the bytes held are those that may yet be markup. A value
//! costs nothing per chunk: the host routes it up to the next marker.
//!
//! A call whose arguments are plain text (a custom tool) is given the parameter `input`, or its
//! body as it is.

use std::collections::BTreeSet;

use super::unquoted;
use crate::tools::CalledTool;
use crate::{Output, Parameter, Payload, Reading, Route, Segment, Tools, Types};

/// The parameter that carries the input of a custom tool.
const INPUT: &str = "input";

/// Writer of one call's arguments.
#[derive(Debug)]
pub struct ArgumentsWriter {
    tool: CalledTool,
    payload: Payload,
    given: BTreeSet<String>,
    /// Where the text of the open value goes.
    value: Option<Route>,
    line: Line,
    /// Whether a line ending stands in front of the value.
    is_behind_line: bool,
}

/// Line ending, LF or CRLF, that the format puts before a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// The line ending may follow.
    Due,
    /// A carriage return came, and is held: it may be the first half of CRLF.
    Return,
    Passed,
}

impl ArgumentsWriter {
    /// Writer of a call of `name`, one of `tools` or not.
    pub fn new(tools: &Tools, name: &str) -> Self {
        Self {
            tool: tools.called(name),
            payload: tools.payload(name),
            given: BTreeSet::new(),
            value: None,
            line: Line::Passed,
            is_behind_line: false,
        }
    }

    /// The tools that may be called.
    pub(super) fn tools(&self) -> &Tools {
        &self.tool.tools
    }

    /// Whether the arguments are plain text.
    pub fn is_text(&self) -> bool {
        self.payload == Payload::Text
    }

    /// Whether a parameter has begun.
    pub fn has_begun(&self) -> bool {
        !self.given.is_empty()
    }

    /// Whether parameter `key` was given.
    pub fn is_given(&self, key: &str) -> bool {
        self.given.contains(key)
    }

    /// Whether a value is open.
    pub(super) fn is_open(&self) -> bool {
        self.value.is_some()
    }

    /// Whether the open value is the whole body of a call that is plain text: only the end of the
    /// call ends it.
    pub(super) fn is_body(&self) -> bool {
        self.value == Some(Route::Arguments)
    }

    /// Whether nothing has been written of arguments that are plain text.
    pub fn is_untouched(&self) -> bool {
        self.is_text() && self.given.is_empty()
    }

    /// Whether a parameter of this name may come: it wasn't given yet, and the tool lists it or
    /// lists none.
    pub fn expects(&self, key: &str) -> bool {
        let key = unquoted(key);
        let may_be = self.listed().is_empty() || self.lists(key);
        !self.is_text() && !key.is_empty() && !self.given.contains(key) && may_be
    }

    /// Whether the tool lists a parameter of this name.
    pub(super) fn lists(&self, key: &str) -> bool {
        self.types(key).is_some()
    }

    fn listed(&self) -> &[Parameter] {
        self.tool.get().map_or(&[], |tool| &tool.parameters)
    }

    /// Whether the value of a parameter of this name would be left out, in a call whose arguments
    /// are plain text and haven't begun.
    pub fn is_misplaced(&self, key: &str) -> bool {
        unquoted(key) != INPUT && self.is_untouched()
    }

    /// Begins the value of parameter `key`, of which quotes are removed. The held markup in front
    /// of the value was dropped before.
    pub fn begin(&mut self, key: &str, out: &mut Output) {
        self.begin_as(unquoted(key), Reading::Declared, out);
    }

    /// Begins the value of parameter `key`, which is to be read as `reading` says.
    pub fn begin_as(&mut self, key: &str, reading: Reading, out: &mut Output) {
        self.begin_at(key, None, reading, out);
    }

    /// Begins item `index` of parameter `key`, which is a list of values that are written apart.
    pub fn begin_item(&mut self, key: &str, index: u32, out: &mut Output) {
        self.begin_at(key, Some(index), Reading::Declared, out);
    }

    fn begin_at(&mut self, key: &str, item: Option<u32>, reading: Reading, out: &mut Output) {
        let key = key.to_owned();
        let path = [Segment::Key(key.clone())].into_iter().chain(item.map(Segment::Item));
        out.parameter_at(path.collect(), reading);
        self.given.insert(key);
        self.value = Some(Route::Value);
    }

    /// Whether parameter `key` is a list, and can be nothing else.
    pub fn is_list(&self, key: &str) -> bool {
        !self.is_text() && self.types(key) == Some(Types::ARRAY)
    }

    /// How the value of parameter `key` is read where the call says that it is a `kind`: by the
    /// schema, which alone binds the caller. The kind counts where the schema leaves open whether the
    /// value is text, or doesn't list the parameter.
    pub fn reading(&self, key: &str, kind: &str) -> Reading {
        let types = self.types(key);
        match kind {
            "string" if types.is_none_or(|types| types.allows(Types::STRING)) => Reading::Text,
            _ if types.is_none() => Reading::Json,
            _ => Reading::Declared,
        }
    }

    /// The types that the schema allows parameter `key`, if it lists the parameter.
    fn types(&self, key: &str) -> Option<Types> {
        self.listed().iter().find(|parameter| parameter.name == key).map(|parameter| parameter.types)
    }

    /// Begins the body of a call whose arguments are plain text: all of it goes out as it is.
    pub fn begin_body(&mut self) {
        self.given.insert(INPUT.to_owned());
        self.value = Some(Route::Arguments);
    }

    /// Leaves out a line ending, LF or CRLF, in front of the value.
    pub fn skip_line(&mut self) {
        (self.line, self.is_behind_line) = (Line::Due, true);
    }

    /// The value begins in the line of its tag, which the format ends before the value.
    pub(super) fn pass_line(&mut self) {
        (self.line, self.is_behind_line) = (Line::Passed, true);
    }

    /// Whether a line ending stood in front of the value, or may yet come.
    pub(super) fn is_behind_line(&self) -> bool {
        self.is_behind_line
    }

    /// Reads `more` text of the value: all held bytes but the `keep` youngest belong to the value.
    pub fn text(&mut self, more: &str, keep: usize, out: &mut Output) {
        if self.passes_line(more, out)
            && let Some(route) = self.value
        {
            out.flow(route, keep);
        }
    }

    /// Drops the line ending in front of the value, if `more` begins with it. Returns whether that
    /// is over.
    fn passes_line(&mut self, more: &str, out: &mut Output) -> bool {
        let line = std::mem::replace(&mut self.line, Line::Passed);
        if line == Line::Due && matches!(more, "" | "\r") {
            self.line = if more.is_empty() { Line::Due } else { Line::Return };
            return false;
        }
        let behind = match line {
            Line::Passed => None,
            Line::Due => more.strip_prefix("\r\n").or_else(|| more.strip_prefix('\n')),
            Line::Return => more.strip_prefix('\n'),
        };
        self.is_behind_line &= line == Line::Passed || behind.is_some();
        if let Some(behind) = behind {
            out.drop(usize::from(line == Line::Return) + more.len() - behind.len());
        }
        true
    }

    /// Ends the value, and drops the markup held after the value, but for the `keep` youngest
    /// bytes.
    pub fn end(&mut self, keep: usize, out: &mut Output) {
        self.line = Line::Passed;
        if self.value.take() == Some(Route::Value) {
            out.end_parameter();
        }
        out.drop(out.held() - keep);
    }

    /// Completes the call.
    pub fn close(&self, out: &mut Output) {
        if !self.is_text() && self.given.is_empty() {
            out.derive("{}");
        }
        out.close();
    }
}
