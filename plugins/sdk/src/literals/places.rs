//! What is read outside of strings: keys, brackets, commas, numbers and words. Each function
//! returns the number of bytes that it read.

use super::frame::{Frame, Kind};
use super::quoted::StringKind;
use super::{DEPTH, HELD, Input, Literals, Place};
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
            Place::Brace => self.brace(bytes, out),
            Place::Typed(mark) => self.typed(mark, byte, out),
            Place::Marked { .. } if self.closing > 0 => self.behind_string(bytes, out),
            Place::Marked { .. } => {
                out.until_marker(self.plain_route());
                bytes.len()
            }
            Place::After => self.after(byte, out),
            Place::NoLiteral => {
                out.take(self.json_route(), self.comma + self.pending.len() + bytes.len());
                self.comma = 0;
                self.pending.clear();
                bytes.len()
            }
        }
    }

    /// The innermost bracket. One is open while anything is read.
    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the arguments are open")
    }

    /// Reads white space or a comma before a member. They are held behind a comma, since the
    /// bracket's end may follow.
    fn gap(&mut self, byte: u8, out: &mut Output) {
        let frame = *self.frame();
        match byte {
            _ if frame.kind == Kind::Arguments => out.drop(1),
            b',' => {
                out.drop(std::mem::take(&mut self.comma));
                if frame.any { self.comma = 1 } else { out.drop(1) }
            }
            _ if self.comma == HELD => {
                out.drop(std::mem::take(&mut self.comma));
                out.drop(1);
            }
            _ if self.comma > 0 => self.comma += 1,
            _ => out.take(self.json_route(), 1),
        }
    }

    fn key(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' | b',' => self.gap(byte, out),
            _ if byte == self.frame().close => self.close(out),
            b'"' | b'\'' => {
                self.begin_member(out);
                self.begin_quoted(byte, StringKind::Key, out);
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
                self.types = self.types_of(&self.pending[..name]);
                self.begin_member(out);
                self.write("\"", out);
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
                if self.frame().kind == Kind::Arguments {
                    out.drop(1);
                    self.write(": ", out);
                } else if byte == b':' {
                    out.take(self.json_route(), 1);
                } else {
                    out.drop(1);
                    self.write(":", out);
                }
                self.place = Place::Value;
            }
            _ => return self.no_literal(),
        }
        1
    }

    fn value(&mut self, byte: u8, out: &mut Output) -> usize {
        let frame = *self.frame();
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.gap(byte, out),
            b',' if frame.kind == Kind::List => self.gap(byte, out),
            _ if byte == frame.close && frame.kind == Kind::List => self.close(out),
            _ if self.input == Input::Read => return self.no_literal(),
            b'"' | b'\'' => {
                self.begin_value(out);
                self.begin_quoted(byte, StringKind::Value, out);
            }
            b'{' if self.frames.len() < DEPTH => {
                self.pending.push(byte);
                self.place = Place::Brace;
            }
            b'[' | b'(' if self.frames.len() < DEPTH => self.open(byte, out),
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
        if byte == b'(' {
            out.drop(1);
            self.write("[", out);
        } else {
            out.take(self.json_route(), 1);
        }
        self.frames.push(Frame::new(Kind::List, if byte == b'[' { b']' } else { b')' }));
        self.place = Place::Value;
    }

    /// Reads the bracket that closes the innermost one.
    fn close(&mut self, out: &mut Output) {
        out.drop(std::mem::take(&mut self.comma));
        match self.frames.pop() {
            Some(Frame { kind: Kind::Arguments, any, .. }) => {
                out.drop(1);
                self.write(if any { "}" } else { "{}" }, out);
            }
            Some(Frame { kind: Kind::List, close: b')' | b'}', .. }) => {
                out.drop(1);
                self.write("]", out);
            }
            _ => out.take(self.json_route(), 1),
        }
        self.place = Place::After;
    }

    fn after(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => self.gap(byte, out),
            b',' => {
                self.gap(byte, out);
                self.place = if self.frame().kind == Kind::List { Place::Value } else { Place::Key };
            }
            _ if byte == self.frame().close => self.close(out),
            _ => return self.no_literal(),
        }
        1
    }

    /// Writes what stands before a member of a bracket.
    pub(super) fn begin_member(&mut self, out: &mut Output) {
        let frame = *self.frame();
        if self.comma > 0 {
            out.take(self.json_route(), std::mem::take(&mut self.comma));
        } else {
            self.write(frame.before_member(), out);
        }
        self.frame().any = true;
    }

    /// Writes what stands before a value.
    pub(super) fn begin_value(&mut self, out: &mut Output) {
        if self.frame().kind == Kind::List {
            self.begin_member(out);
        }
    }

    /// Writes the quote before a string.
    pub(super) fn begin_string(&mut self, out: &mut Output) {
        self.write("\"", out);
        self.enter_string();
    }

    pub(super) fn enter_string(&mut self) {
        if self.input == Input::Sought {
            self.input = Input::Inside;
        }
    }

    /// Writes the quote behind a string or key.
    pub(super) fn end_string(&mut self, is_key: bool, out: &mut Output) {
        self.write("\"", out);
        self.leave_string(is_key);
    }

    pub(super) fn leave_string(&mut self, is_key: bool) {
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
