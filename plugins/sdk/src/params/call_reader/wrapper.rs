//! A parameter that wraps the arguments, `<parameter=arguments>{"city": "Oslo"}`: its object is the
//! call's own.
//!
//! Invariant: it is the call's first parameter and its value an object, and the tool lists parameters
//! and none of this name. The object's last brace is held until the call ends: words or a parameter
//! behind it make the call incomplete.

use super::value::leading_white;
use super::{CallReader, State};
use crate::json::{ArgumentsText, Scanner};
use crate::params::{CallMark, CallProgress};
use crate::{Output, Payload, Reading};

/// Names of parameters that wrap the arguments.
const WRAPPERS: [&str; 2] = ["arguments", "input"];

/// A parameter that may wrap the arguments.
#[derive(Debug)]
pub(super) struct Wrapper {
    name: String,
    reading: Reading,
    /// The object in it; empty before its brace.
    object: ArgumentsText,
    scanner: Scanner,
    /// Whether the last brace came.
    has_ended: bool,
}

impl Wrapper {
    /// Reads `text` of the object up to its end. Returns how many bytes.
    fn read(&mut self, text: &str, out: &mut Output) -> usize {
        let end = self.scanner.read(text.as_bytes());
        self.has_ended = end.is_some();
        let inside = end.map_or(text.len(), |end| end - 1);
        self.object.read(&text.as_bytes()[..inside], out);
        end.unwrap_or(text.len())
    }

    /// Writes the last brace.
    fn end(&mut self, out: &mut Output) {
        self.object.read(b"}", out);
    }
}

impl CallReader {
    /// Begins the value of a parameter, whose markup is dropped, unless it may wrap the arguments.
    pub(super) fn begin_parameter(&mut self, name: &str, reading: Reading, out: &mut Output) {
        let may_wrap = !self.arguments.has_begun() && !self.arguments.is_text();
        if may_wrap && WRAPPERS.contains(&name) && !self.arguments.expects(name) {
            let (object, scanner) = (ArgumentsText::new(Payload::Json), Scanner::default());
            let name = name.to_owned();
            self.wrapper = Some(Box::new(Wrapper { name, reading, object, scanner, has_ended: false }));
            self.doubt.clear();
        } else {
            self.arguments.begin_as(name, reading, out);
        }
    }

    /// Reads text of what may be a wrapper. Returns how many bytes.
    pub(super) fn read_wrapper(&mut self, text: &str, out: &mut Output) -> usize {
        let Some(wrapper) = &mut self.wrapper else { return text.len() };
        if wrapper.has_ended {
            self.is_broken |= !self.doubt.goes_on(text);
            if self.is_broken {
                out.drop_all();
            }
            return text.len();
        }
        let blank = leading_white(text);
        let begins = wrapper.object.is_empty();
        if begins && self.doubt.goes_on(text) {
            return text.len();
        }
        if begins && !text[blank..].starts_with('{') {
            self.unwrap(0, out);
            return text.len();
        }
        let blank = if begins { blank } else { 0 };
        out.drop(out.held() - (text.len() - blank));
        let read = blank + wrapper.read(&text[blank..], out);
        if wrapper.has_ended {
            self.doubt.clear();
        }
        read
    }

    /// Makes what wraps no arguments a parameter, whose value begins with the text in doubt, before the
    /// `keep` youngest held bytes.
    pub(super) fn unwrap(&mut self, keep: usize, out: &mut Output) {
        let Some(wrapper) = self.wrapper.take() else { return };
        self.arguments.begin_as(&wrapper.name, wrapper.reading, out);
        self.state = State::Value;
        self.arguments.text(self.doubt.text(), keep, out);
        self.doubt.clear();
    }

    /// Whether no object has begun in what may be a wrapper.
    pub(super) fn wraps_nothing(&self) -> bool {
        self.wrapper.as_ref().is_some_and(|wrapper| wrapper.object.is_empty())
    }

    /// Reads a marker in the object that is wrapped, or behind it.
    pub(super) fn mark_wrapper(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        let Some(wrapper) = &mut self.wrapper else { return CallProgress::Inside };
        if wrapper.scanner.in_string() && !out.ends_strings() {
            wrapper.read(literal, out);
            return CallProgress::Inside;
        }
        if !wrapper.has_ended {
            wrapper.object.give_up(out);
            return CallProgress::Left;
        }
        match mark {
            CallMark::ValueEnd => {}
            CallMark::Key
            | CallMark::KeyEnd
            | CallMark::Type
            | CallMark::TypeEnd
            | CallMark::Value
            | CallMark::Other => self.is_broken = true,
            CallMark::End => return self.close_wrapper(0, out),
            CallMark::Call | CallMark::Next | CallMark::Outside | CallMark::Stop => {
                return self.close_wrapper(literal.len(), out);
            }
        }
        if self.is_broken {
            out.drop_all();
        }
        CallProgress::Inside
    }

    /// Ends the call behind the object, before the `keep` youngest held bytes.
    fn close_wrapper(&mut self, keep: usize, out: &mut Output) -> CallProgress {
        if let Some(wrapper) = &mut self.wrapper {
            if self.is_broken {
                wrapper.object.give_up(out);
            } else {
                wrapper.end(out);
                wrapper.object.close(out);
            }
        }
        out.drop(out.held() - keep);
        if keep == 0 { CallProgress::Closed } else { CallProgress::Left }
    }

    /// Ends the turn in what may be a wrapper.
    pub(super) fn finish_wrapper(&mut self, by_itself: bool, out: &mut Output) {
        if let Some(wrapper) = &mut self.wrapper {
            if by_itself && wrapper.has_ended && !self.is_broken {
                wrapper.end(out);
                wrapper.object.close(out);
            } else {
                wrapper.object.release(out);
            }
        }
        out.drop_all();
    }
}
