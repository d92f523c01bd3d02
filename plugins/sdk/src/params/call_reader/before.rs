//! What stands between a key and its value where they are elements: white space, and perhaps the type
//! of the value, `<arg_type>string</arg_type>`.
//!
//! Invariant: the parameter is told to the host once its value begins, which is when it is known
//! whether a type stands before it.

use super::value::leading_white;
use super::{CallReader, State};
use crate::params::doubt::DOUBT;
use crate::params::{CallMark, CallProgress, Style};
use crate::{Output, Reading};

/// Longest text at the stream's end that may be half a marker, in bytes.
pub(super) const HALF: usize = 32;

impl CallReader {
    /// Skips white space between a key's element and its value's. Other text is the value, whose
    /// marker was left out, unless it may be half a marker. Returns how many bytes it read.
    pub(super) fn read_before(&mut self, text: &str, out: &mut Output) -> usize {
        let is_begun = out.held() > text.len();
        let read = if is_begun { 0 } else { leading_white(text) };
        out.drop(read);
        if (is_begun || text[read..].starts_with('<')) && out.held() <= HALF {
            return text.len();
        }
        if read < text.len() {
            self.begin_due(out);
        }
        if is_begun {
            self.unwrap(text.len(), out);
        }
        read
    }

    /// Reads `text` of a type, of which no more than can be one is kept. Returns how many bytes it
    /// read.
    pub(super) fn read_type(&mut self, text: &str, out: &mut Output) -> usize {
        if let Some(kind) = &mut self.kind {
            let room = (DOUBT + 1).saturating_sub(kind.len());
            kind.push_str(&text[..text.floor_char_boundary(room)]);
        }
        out.drop_all();
        text.len()
    }

    /// Reads a marker between a key and its value. A call that goes on inside a type is broken, as is
    /// one that ends before a value that may have a type.
    pub(super) fn mark_before(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        if self.state == State::Before && out.held() > literal.len() {
            // What looked like half a marker is the value's beginning.
            self.begin_due(out);
            self.unwrap(literal.len(), out);
            self.arguments.text("", literal.len(), out);
            return self.mark_value(mark, literal, out);
        }
        match (self.state, mark) {
            (State::Before, CallMark::Type) => {
                out.drop_all();
                (self.state, self.kind) = (State::Type, Some(String::new()));
                return CallProgress::Inside;
            }
            (State::Type, CallMark::TypeEnd) => {
                out.drop_all();
                self.state = State::Before;
                return CallProgress::Inside;
            }
            (_, CallMark::Value) => {
                out.drop_all();
                self.begin_due(out);
                return self.flow(out);
            }
            (State::Before, CallMark::End) => self.is_broken |= self.style == Style::TypedElements,
            (in_state, _) => self.is_broken |= in_state == State::Type,
        }
        self.begin_due(out);
        if matches!(mark, CallMark::ValueEnd | CallMark::End) {
            return self.mark(mark, literal, out);
        }
        self.unwrap(literal.len(), out);
        if mark == CallMark::Call {
            self.breaks = true;
            return self.begin_name(literal);
        }
        self.mark_value(mark, literal, out)
    }

    /// Begins the value of the key that came before, as its type says, which is one word; other words
    /// break the call.
    pub(super) fn begin_due(&mut self, out: &mut Output) {
        let tag = std::mem::take(&mut self.key);
        let name = self.style.name(&tag);
        let reading = self.kind.take().map_or(Reading::Declared, |kind| {
            let word = kind.trim();
            self.is_broken |= kind.len() > DOUBT || word.contains(char::is_whitespace);
            self.arguments.reading(name, word)
        });
        self.begin_parameter(name, reading, out);
        self.key = tag;
    }
}
