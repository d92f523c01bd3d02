//! Arguments in a dialect of JSON, as `content_args` describe it: bare keys (`unquoted_keys`), and
//! strings between delimiters of their own (`string_delims`), whose text has no escapes. They
//! become JSON as they arrive.
//!
//! Invariant: held are at most the letters of one bare word, and white space behind it. All other
//! text is routed with its chunk. Arguments of a custom tool are the first string of their object.

use parser_sdk::{Output, Payload, Route};

use crate::table::{Meaning, Within};

/// Longest bare word that may be a key, in bytes.
const WORD: usize = 256;

/// The arguments of one call.
#[derive(Debug)]
pub(crate) struct DialectArguments {
    payload: Payload,
    /// Whether bare words may be keys.
    bare_keys: bool,
    /// Number of open brackets.
    depth: usize,
    place: Place,
    /// Whether the string of a custom tool has begun.
    has_input: bool,
    /// Whether words stand before the arguments, or in those of a custom tool, and belong to nothing.
    has_lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside strings; a key `may_begin` behind a brace or comma.
    Plain { may_begin: bool },
    /// In a bare word that may be a key, or in white space behind it: lengths of both.
    Word { word: usize, space: usize },
    /// In a string in quotes, which goes to this route; behind a backslash or not.
    Quoted { route: Route, is_escaped: bool },
    /// In a string between the delimiters with this index, which goes to this route and may be a
    /// key.
    Delimited { index: usize, route: Route, is_key: bool },
    /// Behind what ends such a string if the arguments go on behind it, and white space: their
    /// lengths, which are held.
    DelimitedEnd { index: usize, route: Route, is_key: bool, bytes: usize, space: usize },
    /// Behind the last bracket.
    Ended,
}

impl DialectArguments {
    pub(crate) fn new(payload: Payload, bare_keys: bool) -> Self {
        Self {
            payload,
            bare_keys,
            depth: 0,
            place: Place::Plain { may_begin: false },
            has_input: false,
            has_lost: false,
        }
    }

    /// Position in the call, by which delimiters count: those of strings only inside brackets.
    pub(crate) fn within(&self) -> Within {
        match self.place {
            Place::Delimited { index, .. } => Within::Delimited(index),
            Place::Quoted { .. } => Within::String,
            _ if self.depth > 0 => Within::Dialect,
            _ => Within::Parameters,
        }
    }

    /// Acts on a held delimiter of `bytes` bytes, behind which the `keep` youngest bytes are held:
    /// the beginning or the end of a string.
    pub(crate) fn delimiter(&mut self, meaning: Meaning, bytes: usize, keep: usize, out: &mut Output) {
        match (self.place, meaning) {
            (Place::Delimited { index, route, is_key }, _) => {
                self.place = Place::DelimitedEnd { index, route, is_key, bytes, space: 0 };
                return;
            }
            (Place::DelimitedEnd { index, route, is_key, bytes: end, space }, _) => {
                out.take(route, end + space);
                self.place = Place::DelimitedEnd { index, route, is_key, bytes, space: 0 };
                return;
            }
            // The word is no key: a value follows it.
            (Place::Word { .. }, _) => self.bare(out.held() - bytes - keep, out),
            _ => {}
        }
        out.drop(bytes);
        if let Meaning::StringOpen(index) = meaning {
            let route = self.string_route(Route::ArgumentsEscaped, Route::Arguments);
            let is_key = self.place == Place::Plain { may_begin: true };
            self.place = Place::Delimited { index, route, is_key };
        }
        self.quote(out);
    }

    /// Routes a bare word that is no key.
    fn bare(&mut self, bytes: usize, out: &mut Output) {
        self.has_lost |= self.payload == Payload::Text;
        out.take(self.structure(), bytes);
    }

    /// Ends the string between delimiters whose end, of `bytes` bytes, is held, and white space
    /// behind it.
    fn end_delimited(&mut self, bytes: usize, space: usize, out: &mut Output) {
        out.drop(bytes);
        self.quote(out);
        out.take(self.structure(), space);
        self.place = Place::Plain { may_begin: false };
    }

    /// Closes the call.
    fn close(&self, out: &mut Output) {
        if self.has_lost { out.message("") } else { out.close() }
    }

    /// Reads `text`, behind which nothing is held. Returns the number of bytes read if the call
    /// ended.
    pub(crate) fn text(&mut self, text: &str, out: &mut Output) -> Option<usize> {
        if let Place::Delimited { route, .. } = self.place {
            out.until_marker(route);
            return None;
        }
        let mut at = 0;
        while let Some(&byte) = text.as_bytes().get(at) {
            at += 1;
            match self.place {
                Place::Plain { may_begin } => self.plain(byte, may_begin, out),
                Place::Word { word, space } => self.word(byte, word, space, out),
                Place::Quoted { route, is_escaped } => {
                    let ends = byte == b'"' && !is_escaped;
                    out.take(if ends { self.structure() } else { route }, 1);
                    let is_escaped = byte == b'\\' && !is_escaped;
                    self.place = if ends {
                        Place::Plain { may_begin: false }
                    } else {
                        Place::Quoted { route, is_escaped }
                    };
                }
                Place::DelimitedEnd { index, route, is_key, bytes, space } => match byte {
                    b' ' | b'\n' | b'\r' | b'\t' if space < WORD => {
                        self.place = Place::DelimitedEnd { index, route, is_key, bytes, space: space + 1 };
                    }
                    b',' | b'}' | b']' | b':' if is_key || byte != b':' => {
                        self.end_delimited(bytes, space, out);
                        self.plain(byte, false, out);
                    }
                    _ => {
                        self.place = Place::Delimited { index, route, is_key };
                        out.until_marker(route);
                        return None;
                    }
                },
                Place::Delimited { .. } | Place::Ended => return Some(at - 1),
            }
        }
        (self.place == Place::Ended).then_some(at)
    }

    /// Ends the call at the region's close, before the last `bytes` held bytes, or with the turn.
    pub(crate) fn end(&mut self, is_closed: bool, bytes: usize, out: &mut Output) {
        match self.place {
            Place::DelimitedEnd { bytes: end, space, .. } => self.end_delimited(end, space, out),
            Place::Word { .. } if is_closed => self.bare(out.held() - bytes, out),
            _ => {}
        }
        out.drop(out.held() - bytes);
        if is_closed && self.place != Place::Ended {
            if self.depth == 0 && self.payload == Payload::Json {
                out.derive("{}");
            }
            self.close(out);
        }
    }

    fn plain(&mut self, byte: u8, may_begin: bool, out: &mut Output) {
        let mut next = Place::Plain { may_begin: may_begin && byte.is_ascii_whitespace() };
        match byte {
            b'{' | b'[' | b'"' if self.depth == 0 => {}
            _ if self.depth == 0 => {
                self.has_lost |= !byte.is_ascii_whitespace();
                return out.drop(1);
            }
            _ => {}
        }
        match byte {
            b'"' => {
                let route = self.string_route(Route::Arguments, Route::ArgumentsUnescaped);
                next = Place::Quoted { route, is_escaped: false };
            }
            b'{' | b'[' => {
                self.depth += 1;
                next = Place::Plain { may_begin: byte == b'{' };
            }
            b',' => next = Place::Plain { may_begin: true },
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    out.take(self.structure(), 1);
                    self.close(out);
                    self.place = Place::Ended;
                    return;
                }
            }
            _ if may_begin && self.bare_keys && is_word(byte) => {
                self.place = Place::Word { word: 1, space: 0 };
                return;
            }
            _ => self.has_lost |= self.payload == Payload::Text && byte.is_ascii_alphabetic(),
        }
        out.take(self.structure(), 1);
        self.place = next;
    }

    fn word(&mut self, byte: u8, word: usize, space: usize, out: &mut Output) {
        match byte {
            b':' => {
                self.quote(out);
                out.take(self.structure(), word);
                self.quote(out);
                out.take(self.structure(), space + 1);
                self.place = Place::Plain { may_begin: false };
            }
            _ if space == 0 && word < WORD && is_word(byte) => {
                self.place = Place::Word { word: word + 1, space }
            }
            b' ' | b'\n' | b'\r' | b'\t' if space < WORD => {
                self.place = Place::Word { word, space: space + 1 }
            }
            _ => {
                self.bare(word + space, out);
                self.plain(byte, false, out);
            }
        }
    }

    fn quote(&self, out: &mut Output) {
        if self.payload == Payload::Json {
            out.derive("\"");
        }
    }

    /// Route of all but strings.
    fn structure(&self) -> Route {
        if self.payload == Payload::Json { Route::Arguments } else { Route::Drop }
    }

    /// Route of the string that begins: `json`, or `text` for the first string of a custom tool.
    fn string_route(&mut self, json: Route, text: Route) -> Route {
        match self.payload {
            Payload::Json => json,
            Payload::Text if self.depth == 1 && !std::mem::replace(&mut self.has_input, true) => text,
            Payload::Text => {
                self.has_lost = true;
                Route::Drop
            }
        }
    }
}

/// Whether a byte belongs to a word: letters outside ASCII do.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}
