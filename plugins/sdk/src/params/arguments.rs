//! The arguments of one call, written value by value to an [`Output`].
//!
//! Invariant: while a value is being read, the bytes held are those of the value that aren't decided yet, and markup after them.
//! A string costs nothing per chunk: the host routes it up to the next marker.
//!
//! A parameter given twice counts once: the first is out already, so the second is dropped. A call whose arguments are plain text
//! (a custom tool) is given the parameter `input`, or its body as it is.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::coerce::{Coerced, coerce, may_be_typed, white};
use super::{Reading, Schema, Types, unquoted};
use crate::{Output, Payload, Route};

/// The parameter that carries the input of a custom tool.
const INPUT: &str = "input";

/// Writer of one call's arguments.
#[derive(Debug)]
pub struct ArgumentsWriter {
    schema: Rc<Schema>,
    payload: Payload,
    given: BTreeSet<String>,
    value: Value,
    line: Line,
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

/// The value being read.
#[derive(Debug)]
enum Value {
    /// No value is being read.
    No,
    /// A value that goes to this route as it comes.
    Flowing(Route),
    /// A value that may be something else than a string: its text so far, all held, and its first byte that isn't white space.
    Waiting { types: Types, is_json: bool, text: String, first: Option<u8> },
}

impl ArgumentsWriter {
    pub(super) fn new(schema: Rc<Schema>, payload: Payload) -> Self {
        Self { schema, payload, given: BTreeSet::new(), value: Value::No, line: Line::Passed }
    }

    /// Whether the arguments are plain text.
    pub fn is_text(&self) -> bool {
        self.payload == Payload::Text
    }

    /// Whether a parameter has begun.
    pub fn has_begun(&self) -> bool {
        !self.given.is_empty()
    }

    /// Whether nothing has been written of arguments that are plain text.
    pub fn is_untouched(&self) -> bool {
        self.is_text() && self.given.is_empty()
    }

    /// Whether a parameter of this name may come: it wasn't given yet, and the schema lists it or lists none.
    pub fn expects(&self, key: &str) -> bool {
        let key = unquoted(key);
        !self.is_text() && !key.is_empty() && !self.given.contains(key) && self.schema.expects(key)
    }

    /// Whether the value of a parameter of this name would be dropped, in a call whose arguments are plain text and haven't begun.
    pub fn is_misplaced(&self, key: &str) -> bool {
        unquoted(key) != INPUT && self.is_untouched()
    }

    /// Begins the value of parameter `key`, of which quotes are removed. The held markup in front of the value was dropped before.
    pub fn begin(&mut self, key: &str, out: &mut Output) {
        self.begin_as(unquoted(key), Reading::Declared, out);
    }

    /// Begins the value of parameter `key`, which is to be read as `reading` says.
    pub fn begin_as(&mut self, key: &str, reading: Reading, out: &mut Output) {
        let is_first = self.given.is_empty();
        let is_new = self.given.insert(key.to_owned());
        self.value = match self.payload {
            Payload::Text if key == INPUT && is_new => Value::Flowing(Route::Arguments),
            Payload::Json if is_new => {
                let quoted = serde_json::to_string(key).expect("a string is JSON");
                let types = if reading == Reading::Text { Types::STRING } else { self.schema.types(key) };
                let is_json = reading == Reading::Json;
                let is_string = types == Types::STRING && !is_json;
                let (separator, quote) =
                    (if is_first { "{" } else { ", " }, if is_string { "\"" } else { "" });
                out.derive(format!("{separator}{quoted}: {quote}"));
                if is_string {
                    Value::Flowing(Route::ArgumentsEscaped)
                } else {
                    Value::Waiting { types, is_json, text: String::new(), first: None }
                }
            }
            _ => Value::Flowing(Route::Drop),
        };
    }

    /// Begins the body of a call whose arguments are plain text: all of it goes out as it is.
    pub fn begin_body(&mut self) {
        self.given.insert(INPUT.to_owned());
        self.value = Value::Flowing(Route::Arguments);
    }

    /// Leaves out a line ending, LF or CRLF, in front of the value.
    pub fn skip_line(&mut self) {
        self.line = Line::Due;
    }

    /// Reads `more` text of the value: all held bytes but the `keep` youngest belong to the value.
    pub fn text(&mut self, more: &str, keep: usize, out: &mut Output) {
        let Some(more) = self.behind_line(more, out) else { return };
        if let Value::Waiting { types, is_json, text, first } = &mut self.value {
            *first = first.or_else(|| more.bytes().find(|byte| !white(char::from(*byte))));
            text.push_str(more);
            let may_be_json = *is_json && (*first == Some(b'"') || may_be_typed(*first, text, Types::ANY));
            if may_be_json || may_be_typed(*first, text, *types) {
                return;
            }
            out.derive("\"");
            self.value = Value::Flowing(Route::ArgumentsEscaped);
        }
        if let Value::Flowing(route) = self.value {
            out.flow(route, keep);
        }
    }

    /// The part of `more` behind the line ending in front of the value; `None` while that ending may still come or go on.
    fn behind_line<'a>(&mut self, more: &'a str, out: &mut Output) -> Option<&'a str> {
        let line = std::mem::replace(&mut self.line, Line::Passed);
        if line == Line::Due && matches!(more, "" | "\r") {
            self.line = if more.is_empty() { Line::Due } else { Line::Return };
            return None;
        }
        let held = usize::from(line == Line::Return);
        let behind = match line {
            Line::Passed => return Some(more),
            Line::Due => more.strip_prefix("\r\n").or_else(|| more.strip_prefix('\n')),
            Line::Return => more.strip_prefix('\n'),
        };
        if let Some(behind) = behind {
            out.drop(held + more.len() - behind.len());
        } else if let Value::Waiting { text, .. } = &mut self.value {
            text.push_str(&"\r"[..held]);
        }
        Some(behind.unwrap_or(more))
    }

    /// Ends the value, and drops the markup held after the value, but for the `keep` youngest bytes.
    pub fn end(&mut self, keep: usize, out: &mut Output) {
        let value = std::mem::replace(&mut self.value, Value::No);
        self.line = Line::Passed;
        if let Value::Waiting { types, is_json, text, .. } = &value {
            let is_json = *is_json && crate::json::value(text).is_ok();
            write(text, if is_json { Coerced::Verbatim } else { coerce(text, *types) }, out);
        }
        out.drop(out.held() - keep);
        if matches!(value, Value::Flowing(Route::ArgumentsEscaped)) {
            out.derive("\"");
        }
    }

    /// Completes the call.
    pub fn close(&self, out: &mut Output) {
        if !self.is_text() {
            out.derive(if self.given.is_empty() { "{}" } else { "}" });
        }
        out.close();
    }
}

/// Writes a value whose `text` is held.
fn write(text: &str, value: Coerced, out: &mut Output) {
    match value {
        Coerced::Verbatim => {
            let start = text.len() - text.trim_start_matches(white).len();
            out.drop(start);
            out.arguments(text.trim_matches(white).len());
        }
        Coerced::As(json) => {
            out.drop(text.len());
            out.derive(json);
        }
        Coerced::Text => {
            out.derive("\"");
            out.take(Route::ArgumentsEscaped, text.len());
            out.derive("\"");
        }
    }
}
