//! Strings without quotes and strings between markers. Each function returns the number of bytes
//! that it read.

use super::frame::Kind;
use super::{HELD, Literals, Place};
use crate::Output;

impl Literals {
    /// Begins a string or key between markers, behind the marker `literal`, which is all that is
    /// held.
    pub(super) fn begin_marked(&mut self, mark: usize, is_key: bool, literal: &str, out: &mut Output) {
        if is_key {
            self.write("\"", out);
        } else {
            self.begin_string(out);
        }
        out.drop(literal.len());
        self.place = Place::Marked { mark, is_key };
        out.until_marker(self.plain_route());
    }

    /// Begins a string without quotes, whose first bytes are held.
    pub(super) fn begin_bare(&mut self, out: &mut Output) {
        self.begin_value(out);
        self.begin_string(out);
        let length = self.pending.trim_ascii_end().len();
        out.take(self.plain_route(), length);
        self.pending.drain(..length);
        self.place = Place::Bare;
    }

    /// Ends a string without quotes. White space and a comma behind it are held.
    pub(super) fn end_bare(&mut self, out: &mut Output) {
        self.drop_pending(out);
        self.end_string(false, out);
    }

    pub(super) fn bare(&mut self, bytes: &[u8], out: &mut Output) -> usize {
        let close = self.frame().close;
        match bytes[0] {
            b',' if self.frame().kind == Kind::List => self.end_bare(out),
            byte if byte == close => self.end_bare(out),
            b',' => self.place = Place::Comma,
            byte if byte.is_ascii_whitespace() && self.pending.len() < HELD => {
                self.pending.push(byte);
                return 1;
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',' || *byte == close;
                let run = bytes.iter().skip(1).position(ends).map_or(bytes.len(), |at| at + 1);
                out.take(self.plain_route(), self.pending.len() + run);
                self.pending.clear();
                return run;
            }
        }
        0
    }

    /// The text behind the comma, which may be a key.
    pub(super) fn key_after_comma(&self) -> &[u8] {
        let comma = self.pending.iter().position(|byte| *byte == b',').map_or(0, |at| at + 1);
        self.pending[comma..].trim_ascii_start()
    }

    pub(super) fn comma(&mut self, byte: u8, out: &mut Output) -> usize {
        if !self.pending.contains(&b',') {
            self.pending.push(byte);
            return 1;
        }
        let key = self.key_after_comma().len();
        let close = self.frame().close;
        match byte {
            b':' | b'=' if key > 0 => {
                let before = self.pending.len() - key;
                out.drop(before);
                self.pending.drain(..before);
                self.end_string(false, out);
                self.place = Place::KeyWord;
                return 0;
            }
            b'"' | b'\'' if key == 0 => self.end_bare(out),
            _ if byte == close && key == 0 => self.end_bare(out),
            _ if self.pending.len() < HELD
                && (byte.is_ascii_alphanumeric()
                    || b"_-.$".contains(&byte)
                    || (byte.is_ascii_whitespace() && key == 0)) =>
            {
                self.pending.push(byte);
                return 1;
            }
            _ => {
                // The comma and the word behind it are text.
                out.take(self.plain_route(), self.pending.len());
                self.pending.clear();
                self.place = Place::Bare;
                return 0;
            }
        }
        self.place = Place::Key;
        0
    }
}
