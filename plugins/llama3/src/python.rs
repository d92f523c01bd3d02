//! Python's keyword arguments, `city="Oslo", days=3)`, written as a JSON object while they arrive. `OpenCall` feeds it inside an open call.
//!
//! Invariant: the text of a string is routed with its own chunk, up to the string's end without another call of the parser, and nothing is
//! held but a backslash. Values are literals: strings (`'` or `"`), numbers, `True`, `False`, `None`, lists and dicts of these. Anything
//! else goes out unchanged, so that the arguments aren't JSON: the parser doesn't guess.

use parser_sdk::{Output, Route};

/// Longest key or word that is read as one, in bytes. `True`, `False` and `None` are shorter.
const WORD: usize = 128;

/// Reader of keyword arguments, from behind the opening parenthesis.
#[derive(Debug, Default)]
pub(crate) struct Keywords {
    place: Place,
    depth: usize,
    /// The key or word being read.
    word: String,
    any: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Key,
    Value,
    Word,
    /// In a string that this quote ends.
    String(u8),
    AfterBackslash(u8),
    NoLiteral,
}

impl Keywords {
    /// Whether the next byte is inside a string.
    pub(crate) fn in_string(&self) -> bool {
        matches!(self.place, Place::String(_) | Place::AfterBackslash(_))
    }

    /// Reads `text` up to the closing parenthesis, which closes the call. Returns the number of bytes read if the parenthesis came.
    pub(crate) fn read(&mut self, text: &str, out: &mut Output) -> Option<usize> {
        let (bytes, was_in_string) = (text.as_bytes(), self.in_string());
        let mut index = 0;
        while let Some(&byte) = bytes.get(index) {
            index += match self.place {
                Place::Key if byte == b')' && self.word.is_empty() => {
                    out.drop(1);
                    out.derive(if self.any { "}" } else { "{}" });
                    out.close();
                    return Some(index + 1);
                }
                Place::Key => self.key(byte, out),
                Place::Value => self.value(byte, out),
                Place::Word => self.word(byte, out),
                Place::String(quote) => self.string(&bytes[index..], quote, out),
                Place::AfterBackslash(quote) => self.escape(byte, quote, out),
                Place::NoLiteral => {
                    out.arguments(bytes.len() - index);
                    bytes.len() - index
                }
            };
        }
        if let (true, Place::String(quote)) = (was_in_string, self.place) {
            out.until_byte(Route::ArgumentsEscaped, if quote == b'"' { "\"\\" } else { "'\\" });
        }
        None
    }

    fn key(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b'=' => {
                let key = std::mem::take(&mut self.word);
                out.drop(1);
                out.derive(format!("{}\"{key}\": ", if self.any { ", " } else { "{" }));
                (self.place, self.any) = (Place::Value, true);
            }
            b' ' | b'\n' | b'\r' | b'\t' | b',' => out.drop(1),
            _ if is_word(byte) && self.word.len() < WORD => {
                self.word.push(char::from(byte));
                out.drop(1);
            }
            _ => return self.no_literal(),
        }
        1
    }

    fn value(&mut self, byte: u8, out: &mut Output) -> usize {
        match byte {
            b'\'' => {
                out.drop(1);
                out.derive("\"");
            }
            b',' | b')' if self.depth == 0 => {
                self.place = Place::Key;
                return 0;
            }
            b'"' | b'[' | b'{' | b']' | b'}' | b',' | b':' | b'.' | b'+' | b'-' | b'0'..=b'9' => {
                out.arguments(1);
            }
            b' ' | b'\n' | b'\r' | b'\t' => out.drop(1),
            _ if is_word(byte) => {
                self.place = Place::Word;
                return 0;
            }
            _ => return self.no_literal(),
        }
        match byte {
            b'"' | b'\'' => self.place = Place::String(byte),
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        1
    }

    fn word(&mut self, byte: u8, out: &mut Output) -> usize {
        if is_word(byte) && self.word.len() < WORD {
            self.word.push(char::from(byte));
            out.drop(1);
            return 1;
        }
        out.derive(match std::mem::take(&mut self.word).as_str() {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            other => other,
        });
        self.place = Place::Value;
        0
    }

    fn string(&mut self, bytes: &[u8], quote: u8, out: &mut Output) -> usize {
        let run = bytes.iter().position(|byte| *byte == quote || *byte == b'\\').unwrap_or(bytes.len());
        out.take(Route::ArgumentsEscaped, run);
        match bytes.get(run) {
            None => return run,
            Some(b'\\') => self.place = Place::AfterBackslash(quote),
            Some(_) => {
                self.place = Place::Value;
                if quote == b'"' {
                    out.arguments(1);
                } else {
                    out.drop(1);
                    out.derive("\"");
                }
            }
        }
        run + 1
    }

    /// Reads the byte after a backslash, which is still held. In an escape that JSON doesn't have, the backslash is text, as in Python.
    fn escape(&mut self, byte: u8, quote: u8, out: &mut Output) -> usize {
        self.place = Place::String(quote);
        match byte {
            b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' | b'u' => out.arguments(2),
            b'\'' => {
                out.drop(1);
                out.arguments(1);
            }
            b'\n' => out.drop(2),
            _ => {
                out.take(Route::ArgumentsEscaped, 1);
                return 0;
            }
        }
        1
    }

    fn no_literal(&mut self) -> usize {
        self.place = Place::NoLiteral;
        0
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
