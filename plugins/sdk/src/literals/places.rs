//! What is read outside of strings: keys, brackets, commas, numbers and words. Each function returns the number of bytes that it read.

use super::frame::{Frame, Kind};
use super::quoted::Quoted;
use super::{DEPTH, HELD, Input, Literals, MARKER, Place, scalar};
use crate::Output;

impl Literals {
    pub(super) fn step(&mut self, bytes: &[u8], out: &mut Output) -> usize {
        let byte = bytes[0];
        match self.place {
            Place::Key => self.key(byte, out),
            Place::KeyWord => self.key_word(byte, out),
            Place::AfterKey => self.after_key(byte, out),
            Place::Value => self.value(byte, out),
            Place::Word => self.word(byte, out),
            Place::Bare => self.bare(bytes, out),
            Place::Comma => self.comma(byte, out),
            Place::Quoted(quoted) => self.quoted(quoted, bytes, out),
            Place::Marked { .. } => {
                out.until_marker(self.plain_route());
                bytes.len()
            }
            Place::After => self.after(byte, out),
            Place::NoLiteral => {
                out.take(self.json_route(), self.pending.len() + bytes.len());
                self.pending.clear();
                bytes.len()
            }
        }
    }

    /// The innermost bracket. One is open while anything is read.
    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the arguments are open")
    }

    fn key(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' | b',' => out.drop(1),
            _ if byte == self.frame().close => self.close(out),
            b'"' | b'\'' => {
                self.begin_key(out);
                out.drop(1);
                self.place = Place::Quoted(Quoted::new(byte, true));
            }
            _ => {
                self.place = Place::KeyWord;
                return 0;
            }
        }
        1
    }

    fn key_word(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b':' | b'=' if !self.pending.is_empty() => {
                let name = self.pending.trim_ascii_end().len();
                self.begin_key(out);
                out.take(self.plain_route(), name);
                out.drop(self.pending.len() - name);
                self.pending.clear();
                self.end_string(true, out);
                return 0;
            }
            b':' | b'=' | b',' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b'\'' => {
                return self.no_literal();
            }
            _ if self.pending.len() == HELD => return self.no_literal(),
            _ => self.pending.push(byte),
        }
        1
    }

    fn after_key(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => out.drop(1),
            b':' | b'=' => {
                out.drop(1);
                self.write(self.frames[self.frames.len() - 1].after_key(), out);
                self.place = Place::Value;
            }
            _ => return self.no_literal(),
        }
        1
    }

    fn value(&mut self, byte: u8, out: &mut Output) -> usize {
        let frame = *self.frame();
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => out.drop(1),
            b',' if frame.kind == Kind::List => out.drop(1),
            _ if byte == frame.close && frame.kind == Kind::List => self.close(out),
            b'"' | b'\'' => {
                self.begin_string(out);
                out.drop(1);
                self.place = Place::Quoted(Quoted::new(byte, false));
            }
            b'{' | b'[' | b'(' if self.frames.len() < DEPTH => self.open(byte, out),
            b',' | b'{' | b'[' | b'(' | b'}' | b']' | b')' => return self.no_literal(),
            _ => {
                self.place = Place::Word;
                return 0;
            }
        }
        1
    }

    fn open(&mut self, byte: u8, out: &mut Output) {
        self.begin_value(out);
        out.drop(1);
        self.write(if byte == b'{' { "{" } else { "[" }, out);
        let (kind, close, place) = match byte {
            b'{' => (Kind::Object, b'}', Place::Key),
            b'[' => (Kind::List, b']', Place::Value),
            _ => (Kind::List, b')', Place::Value),
        };
        self.frames.push(Frame::new(kind, close));
        self.place = place;
    }

    /// Reads the bracket that closes the innermost one.
    fn close(&mut self, out: &mut Output) {
        out.drop(1);
        if let Some(frame) = self.frames.pop() {
            self.write(
                match frame.kind {
                    Kind::Arguments if !frame.any => "{}",
                    Kind::Arguments | Kind::Object => "}",
                    Kind::List => "]",
                },
                out,
            );
        }
        self.place = Place::After;
    }

    fn after(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => out.drop(1),
            b',' => {
                out.drop(1);
                self.place = if self.frame().kind == Kind::List { Place::Value } else { Place::Key };
            }
            _ if byte == self.frame().close => self.close(out),
            _ => return self.no_literal(),
        }
        1
    }

    fn word(&mut self, byte: u8, out: &mut Output) -> usize {
        if byte == b',' || byte == self.frame().close {
            self.end_word(out);
            return 0;
        }
        self.pending.push(byte);
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let goes_on = if self.bare {
            // Half a marker may come at the end of the stream, and is no string.
            self.pending[0] == b'<' && self.pending.len() <= MARKER
        } else {
            self.pending.iter().all(is_word)
        };
        if (goes_on || scalar::may_begin(&self.pending)) && self.pending.len() <= HELD {
            return 1;
        }
        self.pending.pop();
        if !self.bare {
            return self.no_literal();
        }
        self.begin_bare(out);
        0
    }

    /// Ends a number or word. One without a meaning goes out unchanged, unless it is a string.
    pub(super) fn end_word(&mut self, out: &mut Output) {
        let length = self.pending.trim_ascii_end().len();
        let word = std::mem::take(&mut self.pending);
        let word = std::str::from_utf8(&word).unwrap_or_default();
        match scalar::json(&word[..length]) {
            None if self.bare => {
                self.begin_string(out);
                out.take(self.plain_route(), length);
                out.drop(word.len() - length);
                return self.end_string(false, out);
            }
            Some(json) if json != &word[..length] => {
                self.begin_value(out);
                out.drop(length);
                self.write(json, out);
            }
            _ => {
                self.begin_value(out);
                out.take(self.json_route(), length);
            }
        }
        out.drop(word.len() - length);
        self.place = Place::After;
    }

    /// Writes what stands before a key, its quote included.
    pub(super) fn begin_key(&mut self, out: &mut Output) {
        let before = self.frame().before_key();
        self.write(before, out);
        self.frame().any = true;
    }

    /// Writes what stands before a value.
    pub(super) fn begin_value(&mut self, out: &mut Output) {
        if self.frame().kind != Kind::List {
            return;
        }
        if std::mem::replace(&mut self.frame().any, true) {
            self.write(",", out);
        }
    }

    /// Writes what stands before a string, its quote included.
    pub(super) fn begin_string(&mut self, out: &mut Output) {
        self.begin_value(out);
        self.write("\"", out);
        if self.input == Input::Sought {
            self.input = Input::Inside;
        }
    }

    /// Ends a string or key, behind its last byte.
    pub(super) fn end_string(&mut self, is_key: bool, out: &mut Output) {
        self.write("\"", out);
        if self.input == Input::Inside {
            self.input = Input::Read;
        }
        self.place = if is_key { Place::AfterKey } else { Place::After };
    }

    pub(super) fn no_literal(&mut self) -> usize {
        self.place = Place::NoLiteral;
        0
    }
}
