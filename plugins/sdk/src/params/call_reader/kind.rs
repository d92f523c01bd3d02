//! The type that stands between a key and its value, `<arg_type>string</arg_type>`, in a format that
//! has such elements.
//!
//! Invariant: the parameter is told to the host once it is known whether a type follows its key.

use super::{CallReader, State};
use crate::Output;
use crate::params::CallMark;
use crate::params::doubt::DOUBT;

impl CallReader {
    /// Reads `text` of a type, of which no more than can be one is kept. Returns the number of bytes
    /// read.
    pub(super) fn read_type(&mut self, text: &str, out: &mut Output) -> usize {
        let room = (DOUBT + 1).saturating_sub(self.key.len());
        self.key.push_str(&text[..text.floor_char_boundary(room)]);
        out.drop_all();
        text.len()
    }

    /// Reads a marker of `bytes` bytes between a key and its value. Returns whether that is all: the
    /// marker belongs to a type. A call that goes on inside a type, or ends before the value, is
    /// broken.
    pub(super) fn mark_type(&mut self, mark: CallMark, bytes: usize, out: &mut Output) -> bool {
        match (self.state, mark) {
            (State::Before, _) if out.held() > bytes => {
                // What looked like half a marker is the value's beginning.
                self.begin_due(out);
                self.state = State::Value;
                self.unwrap(bytes, out);
                self.arguments.text("", bytes, out);
            }
            (State::Before, CallMark::Type) => {
                out.drop_all();
                self.enter(State::Type);
                return true;
            }
            (State::Type, CallMark::TypeEnd) => {
                out.drop_all();
                self.end_type();
                return true;
            }
            (State::Type, CallMark::Value) => self.end_type(),
            (State::Type, CallMark::Stop) => return false,
            (State::Type, _) | (State::Before, CallMark::End) => {
                (self.state, self.is_broken) = (State::Before, true);
                out.drop(out.held() - bytes);
            }
            _ => {}
        }
        self.begin_due(out);
        false
    }

    /// Reads the value as its type says, which is one word; other words break the call.
    fn end_type(&mut self) {
        self.state = State::Before;
        let kind = self.key.trim();
        self.is_broken |= self.key.len() > DOUBT || kind.contains(char::is_whitespace);
        if let Some((key, reading)) = &mut self.due {
            *reading = self.arguments.reading(key, kind);
        }
    }

    /// Begins the value of the parameter that is due.
    pub(super) fn begin_due(&mut self, out: &mut Output) {
        if let Some((key, reading)) = self.due.take() {
            self.begin_parameter(&key, reading, out);
        }
    }
}
