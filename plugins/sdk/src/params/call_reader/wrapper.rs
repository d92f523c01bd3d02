//! A parameter that wraps the arguments, `<parameter=arguments>{"city": "Oslo"}`: its object is the
//! call's own.
//!
//! Invariant: it is the call's first parameter, and the tool lists parameters and none of this name.
//! If it is blank, the call has no such parameter. If its value begins with no brace, it is a
//! parameter like others, unless so much white space stood in front that it was dropped. The object's
//! last brace is written once the call ends: words or a parameter behind it make the call incomplete.

use super::before::HALF;
use super::value::leading_white;
use super::{CallReader, State};
use crate::json::{Scanner, white};
use crate::params::{CallMark, CallProgress};
use crate::{Output, Reading};

/// Names of parameters that wrap the arguments.
const WRAPPERS: [&str; 2] = ["arguments", "input"];

/// A parameter that may wrap the arguments.
#[derive(Debug)]
pub(super) struct Wrapper {
    name: String,
    reading: Reading,
    place: Place,
    scanner: Scanner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In white space before the object, which is in doubt.
    Blank,
    /// In white space so long that it was dropped.
    LongBlank,
    /// Behind white space and what may be half a marker, all of it in doubt.
    Half,
    Object,
    Behind,
}

impl CallReader {
    /// Begins the value of a parameter, whose markup is dropped, unless it may wrap the arguments.
    pub(super) fn begin_parameter(&mut self, name: &str, reading: Reading, out: &mut Output) {
        self.state = State::Value;
        let may_wrap = !self.arguments.has_begun() && !self.arguments.is_text();
        if may_wrap && WRAPPERS.contains(&name) && !self.arguments.expects(name) {
            let (name, scanner) = (name.to_owned(), Scanner::default());
            self.wrapper = Some(Box::new(Wrapper { name, reading, place: Place::Blank, scanner }));
        } else {
            self.arguments.begin_as(name, reading, out);
        }
    }

    /// Makes what wraps no arguments a parameter, whose value begins with the text in doubt, before the
    /// `keep` youngest held bytes. A value whose beginning was dropped breaks the call.
    pub(super) fn unwrap(&mut self, keep: usize, out: &mut Output) {
        let Some(wrapper) = self.wrapper.take() else { return };
        if wrapper.place == Place::LongBlank {
            self.skip(keep, out);
            return;
        }
        self.arguments.begin_as(&wrapper.name, wrapper.reading, out);
        self.arguments.text(self.doubt.text(), keep, out);
        self.doubt.clear();
    }

    /// Reads text of what may be a wrapper. Returns how many bytes.
    pub(super) fn read_wrapper(&mut self, text: &str, out: &mut Output) -> usize {
        let Some(wrapper) = &mut self.wrapper else { return 0 };
        let blank = leading_white(text);
        match wrapper.place {
            Place::Object => {
                let end = wrapper.scanner.read(text.as_bytes());
                out.arguments(end.map_or(text.len(), |end| end - 1));
                if end.is_some() {
                    wrapper.place = Place::Behind;
                    out.drop(1);
                }
                return end.unwrap_or(text.len());
            }
            Place::Behind => {
                self.is_broken |= blank < text.len();
                out.drop_all();
            }
            Place::Blank | Place::LongBlank if text[blank..].starts_with('{') => {
                wrapper.place = Place::Object;
                self.doubt.clear();
                out.drop(out.held() - (text.len() - blank));
                return blank;
            }
            Place::LongBlank if blank == text.len() => out.drop_all(),
            Place::LongBlank => self.unwrap(0, out),
            Place::Blank if !self.doubt.goes_on(&text[..blank]) => {
                wrapper.place = Place::LongBlank;
                self.doubt.clear();
                return 0;
            }
            Place::Blank | Place::Half => {
                self.doubt.push(if wrapper.place == Place::Blank { &text[blank..] } else { text });
                let words = self.doubt.text().trim_start_matches(white);
                if words.starts_with('<') && words.len() <= HALF {
                    wrapper.place = Place::Half;
                } else if !words.is_empty() {
                    self.unwrap(0, out);
                }
            }
        }
        text.len()
    }

    /// Reads a marker in what may be a wrapper.
    pub(super) fn mark_wrapper(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        let Some(wrapper) = &self.wrapper else { return CallProgress::Inside };
        match (wrapper.place, mark) {
            (Place::Object, _) if wrapper.scanner.in_string() && !out.ends_strings() => {
                self.read_wrapper(literal, out);
            }
            (Place::Object, _) => {
                out.message("");
                return CallProgress::Left;
            }
            (Place::Behind, CallMark::ValueEnd) => out.drop_all(),
            (Place::Behind, CallMark::End) => return self.close_wrapper(0, out),
            (Place::Behind, CallMark::Call | CallMark::Next | CallMark::Outside | CallMark::Stop) => {
                return self.close_wrapper(literal.len(), out);
            }
            (Place::Behind, _) => {
                self.is_broken = true;
                out.drop_all();
            }
            (Place::Blank | Place::LongBlank, CallMark::ValueEnd | CallMark::End) => {
                (self.wrapper, self.state) = (None, State::Between);
                self.doubt.clear();
                if mark == CallMark::End {
                    return self.close(0, out);
                }
                out.drop_all();
            }
            _ => {
                self.unwrap(literal.len(), out);
                return self.mark(mark, literal, out);
            }
        }
        CallProgress::Inside
    }

    /// Ends the call behind the object, before the `keep` youngest held bytes.
    fn close_wrapper(&mut self, keep: usize, out: &mut Output) -> CallProgress {
        self.finish_wrapper(out);
        out.drop(out.held() - keep);
        if keep == 0 { CallProgress::Closed } else { CallProgress::Left }
    }

    /// Closes the call if it ends behind the object, with the object's last brace unless it is broken.
    pub(super) fn finish_wrapper(&mut self, out: &mut Output) {
        let is_whole = self.wrapper.as_ref().is_some_and(|wrapper| wrapper.place == Place::Behind);
        if self.is_broken {
            out.message("");
        } else if is_whole {
            out.derive("}");
            out.close();
        }
    }
}
