//! Strings and keys in quotes, with Python's escapes, among which are those of JSON.
//!
//! Templates write strings between quotes without escaping a quote inside: [`super::ahead`] tells
//! which quote ends the string, and a key's is followed by its sign. Three quotes begin a string
//! that three quotes end. The backslashes of a raw string are its text.

use super::{Input, Literals, Place};
use crate::{Output, Route};

/// State of a string in quotes. What is held of it is a quote and what stands behind it, or a
/// backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoted {
    pub(super) quote: u8,
    pub(super) kind: StringKind,
    is_triple: bool,
    /// Whether the string has text.
    pub(super) any: bool,
    /// Number of held quotes of the three that may end the string.
    quotes: u8,
}

/// What stands in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringKind {
    Key,
    Value,
    /// A value whose backslashes are text.
    Raw,
}

impl Quoted {
    /// The string behind its first quote.
    fn new(quote: u8, kind: StringKind) -> Self {
        Self { quote, kind, is_triple: false, any: false, quotes: 0 }
    }

    /// Whether two quotes can't be the rest of those that begin the string.
    pub(super) fn has_begun(self) -> bool {
        self.any || self.is_triple
    }

    /// The bytes that mean something in the string.
    pub(super) fn stops(self) -> &'static str {
        if self.quote == b'"' { "\"\\" } else { "'\\" }
    }
}

impl Literals {
    /// Begins a string or key in quotes, behind `quote`.
    pub(super) fn begin_quoted(&mut self, quote: u8, kind: StringKind, out: &mut Output) {
        if quote == b'"' {
            out.take(self.json_route(), 1);
        } else {
            out.drop(1);
            self.write("\"", out);
        }
        if kind != StringKind::Key {
            self.enter_string();
        }
        self.place = Place::Quoted(Quoted::new(quote, kind));
    }

    /// Ends a string or key whose last quotes, of `bytes` bytes, are held before all other bytes.
    pub(super) fn end_quoted(&mut self, quoted: Quoted, bytes: usize, out: &mut Output) {
        if quoted.quote == b'"' && !quoted.is_triple {
            out.take(self.json_route(), bytes);
            return self.leave_string(quoted.kind == StringKind::Key);
        }
        out.drop(bytes);
        self.end_string(quoted.kind == StringKind::Key, out);
    }

    pub(super) fn quoted(&mut self, mut quoted: Quoted, bytes: &[u8], out: &mut Output) -> usize {
        let byte = bytes[0];
        let read = if self.pending.first() == Some(&b'\\') {
            quoted.any = true;
            self.escape(quoted, byte, out)
        } else if self.closing > 0 {
            if !quoted.has_begun() && byte == quoted.quote && self.pending.len() == 1 {
                self.pending.push(byte);
                (quoted.is_triple, self.closing) = (true, 0);
                self.drop_pending(out);
                self.place = Place::Quoted(quoted);
                return 1;
            }
            return self.behind_string(bytes, out);
        } else if quoted.is_triple && (quoted.quotes > 0 || byte == quoted.quote) {
            return self.triple_quote(quoted, byte, out);
        } else if byte == quoted.quote || byte == b'\\' {
            self.pending.push(byte);
            self.closing = usize::from(byte == quoted.quote);
            1
        } else {
            let ends = |other: &u8| *other == quoted.quote || *other == b'\\';
            let run = bytes.iter().position(ends).unwrap_or(bytes.len());
            out.take(self.quoted_route(), run);
            quoted.any = true;
            run
        };
        self.place = Place::Quoted(quoted);
        read
    }

    /// Reads one of three quotes that end a string, or what follows one.
    fn triple_quote(&mut self, mut quoted: Quoted, byte: u8, out: &mut Output) -> usize {
        if byte != quoted.quote {
            self.take_text(out);
            quoted.quotes = 0;
            self.place = Place::Quoted(quoted);
            return 0;
        }
        self.pending.push(byte);
        quoted.quotes += 1;
        if quoted.quotes == 3 {
            self.pending.clear();
            self.end_quoted(quoted, 3, out);
        } else {
            self.place = Place::Quoted(quoted);
        }
        1
    }

    /// Reads the byte behind a backslash, which is held. In an escape that isn't known the
    /// backslash is text, as in Python.
    fn escape(&mut self, quoted: Quoted, byte: u8, out: &mut Output) -> usize {
        match byte {
            _ if quoted.kind == StringKind::Raw => {
                self.take_text(out);
                if !b"\"'\\".contains(&byte) {
                    return 0;
                }
                out.take(self.plain_route(), 1);
            }
            b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' | b'u' => {
                let route = if self.input == Input::Json { Route::Arguments } else { self.quoted_route() };
                out.take(route, 2);
            }
            b'\'' => {
                out.drop(1);
                out.take(self.quoted_route(), 1);
            }
            b'\n' => out.drop(2),
            b'x' if self.input == Input::Json => {
                out.drop(2);
                self.write("\\u00", out);
            }
            _ => {
                self.take_text(out);
                return 0;
            }
        }
        self.pending.clear();
        1
    }

    /// Routes the held bytes as text of a string, without a meaning.
    pub(super) fn take_text(&mut self, out: &mut Output) {
        out.take(self.plain_route(), self.pending.len());
        self.pending.clear();
    }
}
