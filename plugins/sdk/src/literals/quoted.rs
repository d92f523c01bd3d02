//! Strings and keys in quotes, with Python's escapes, among which are those of JSON.
//!
//! Templates write strings between quotes without escaping a quote inside, so a quote ends the
//! string only before a comma, a bracket or, behind a key, its sign. Three quotes begin a string
//! that three quotes end.

use super::{HELD, Input, Literals, Place};
use crate::{Output, Route};

/// State of a string in quotes. What is held of it is one or more quotes and white space, or a
/// backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoted {
    quote: u8,
    pub(super) is_key: bool,
    is_triple: bool,
    /// Whether the string has text.
    any: bool,
    /// Number of quotes that are held, with white space behind them.
    quotes: u8,
}

impl Quoted {
    /// The string behind its first quote.
    pub(super) fn new(quote: u8, is_key: bool) -> Self {
        Self { quote, is_key, is_triple: false, any: false, quotes: 0 }
    }

    /// Whether the held quotes end the string if nothing follows.
    pub(super) fn may_have_ended(self) -> bool {
        !self.is_triple && self.quotes > 0
    }

    /// Whether two quotes can't be the rest of those that begin the string.
    pub(super) fn has_begun(self) -> bool {
        self.any || self.is_triple
    }

    /// The bytes that mean something in the string.
    pub(super) fn stops(self) -> &'static str {
        if self.quote == b'"' { "\"\\" } else { "'\\" }
    }

    /// Whether `byte`, behind the string's quote and perhaps white space, shows that the string has
    /// ended.
    fn ends_before(self, byte: u8) -> bool {
        if self.is_key { matches!(byte, b':' | b'=') } else { matches!(byte, b',' | b')' | b']' | b'}') }
    }
}

impl Literals {
    /// Begins a string or key in quotes, behind `quote`.
    pub(super) fn begin_quoted(&mut self, quote: u8, is_key: bool, out: &mut Output) {
        if quote == b'"' {
            out.take(self.json_route(), 1);
        } else {
            out.drop(1);
            self.write("\"", out);
        }
        if !is_key {
            self.enter_string();
        }
        self.place = Place::Quoted(Quoted::new(quote, is_key));
    }

    /// Ends a string or key whose last quote is held, and white space behind it.
    pub(super) fn end_quoted(&mut self, quoted: Quoted, out: &mut Output) {
        if quoted.quote == b'"' && !quoted.is_triple {
            out.take(self.json_route(), 1);
            out.drop(self.pending.len() - 1);
            self.pending.clear();
            return self.leave_string(quoted.is_key);
        }
        self.drop_pending(out);
        self.end_string(quoted.is_key, out);
    }

    pub(super) fn quoted(&mut self, mut quoted: Quoted, bytes: &[u8], out: &mut Output) -> usize {
        let byte = bytes[0];
        let read = if self.pending.first() == Some(&b'\\') {
            quoted.any = true;
            self.escape(byte, out)
        } else if quoted.quotes > 0 || byte == quoted.quote {
            return self.quote(quoted, byte, out);
        } else if byte == b'\\' {
            self.pending.push(byte);
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

    /// Reads a quote or what follows it.
    fn quote(&mut self, mut quoted: Quoted, byte: u8, out: &mut Output) -> usize {
        let is_quote = byte == quoted.quote && self.pending.last().is_none_or(|last| *last == byte);
        if is_quote && (quoted.is_triple || quoted.quotes == 0 || !quoted.has_begun()) {
            self.pending.push(byte);
            quoted.quotes += 1;
            if quoted.quotes == 2 && !quoted.is_triple {
                (quoted.is_triple, quoted.quotes) = (true, 0);
                self.drop_pending(out);
            } else if quoted.quotes == 3 {
                self.end_quoted(quoted, out);
                return 1;
            }
        } else if !quoted.is_triple && byte.is_ascii_whitespace() && self.pending.len() < HELD {
            self.pending.push(byte);
        } else if !quoted.is_triple && quoted.ends_before(byte) {
            self.end_quoted(quoted, out);
            return 0;
        } else {
            // The quotes are text.
            self.take_text(out);
            (quoted.quotes, quoted.any) = (0, true);
            self.place = Place::Quoted(quoted);
            return 0;
        }
        self.place = Place::Quoted(quoted);
        1
    }

    /// Reads the byte behind a backslash, which is held. In an escape that isn't known the
    /// backslash is text, as in Python.
    fn escape(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
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
    fn take_text(&mut self, out: &mut Output) {
        out.take(self.plain_route(), self.pending.len());
        self.pending.clear();
    }
}
