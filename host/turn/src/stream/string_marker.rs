//! Markers that come as tokens inside a string of a call's JSON. The model left out the quote
//! before the marker, or the marker is part of the string: tokenizers spell `</tool_call>` in a
//! file's text with the token of a call's end, too.
//!
//! Invariant: the marker and what follows wait until the text says which, and are then read as if
//! they came now. Whatever stays undecided ends the string.

use super::Stream;
use crate::events::TurnEvents;
use crate::markers::Found;
use contract::StreamParser;

/// Number of bytes behind the marker in which the string must plainly go on.
const LOOKAHEAD: usize = 128;

/// A marker inside a string, and what has followed it.
pub(super) struct StringMarker {
    index: u32,
    literal: String,
    later: Vec<Piece>,
    place: Place,
    read: usize,
}

enum Piece {
    Text(String),
    Marker(u32, String),
}

/// Place of the next byte, if the string goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    AfterBackslash,
    AfterString,
}

impl StringMarker {
    pub(super) fn new(index: u32, literal: &str) -> Self {
        Self { index, literal: literal.to_owned(), later: Vec::new(), place: Place::Inside, read: 0 }
    }

    /// Reads text. Returns whether the string goes on, once that is known: an escape or the end of
    /// a JSON string say so, what JSON doesn't allow there says the contrary.
    fn read(&mut self, text: &str) -> Option<bool> {
        for byte in text.bytes() {
            self.place = match (self.place, byte) {
                (Place::AfterBackslash, _) => return Some(b"\"\\/bfnrtu".contains(&byte)),
                (Place::AfterString, b',' | b':' | b'}' | b']') => return Some(true),
                (Place::AfterString, b' ' | b'\t' | b'\r' | b'\n') | (Place::Inside, b'"') => {
                    Place::AfterString
                }
                (Place::AfterString, _) | (Place::Inside, ..b' ') => return Some(false),
                (Place::Inside, b'\\') => Place::AfterBackslash,
                (Place::Inside, _) => Place::Inside,
            };
            self.read += 1;
            if self.read > LOOKAHEAD {
                return Some(false);
            }
        }
        None
    }
}

impl Stream {
    /// Whether this marker may be text of a string all the same.
    pub(super) fn may_be_text(
        &mut self,
        parser: &mut dyn StreamParser,
        index: u32,
        out: &mut TurnEvents,
    ) -> bool {
        if !self.reads_on
            || self.ended
            || self.binding.stops.contains(&index)
            || !self.token_markers.contains(&index)
        {
            return false;
        }
        self.ask(parser, out);
        self.fault.is_none() && !self.router.is_prompt() && self.router.string_is_open()
    }

    /// Takes what follows a marker that waits.
    #[cold]
    pub(super) fn look_at(&mut self, parser: &mut dyn StreamParser, found: Found<'_>, out: &mut TurnEvents) {
        let Some(marker) = &mut self.undecided else { return };
        let goes_on = match found {
            Found::Text("") => None,
            Found::Text(text) => {
                marker.later.push(Piece::Text(text.to_owned()));
                marker.read(text)
            }
            Found::Marker(index, literal) => {
                marker.later.push(Piece::Marker(index, literal.to_owned()));
                if self.binding.stops.contains(&index) { Some(false) } else { marker.read(literal) }
            }
        };
        if let Some(goes_on) = goes_on {
            self.decide_marker(parser, goes_on, out);
        }
    }

    /// Reads the marker that waits, if there is one, and all that followed it.
    pub(crate) fn decide_marker(
        &mut self,
        parser: &mut dyn StreamParser,
        goes_on: bool,
        out: &mut TurnEvents,
    ) {
        let Some(marker) = self.undecided.take() else { return };
        if goes_on {
            self.take_text(parser, &marker.literal, out);
        } else {
            self.take_marker(parser, marker.index, &marker.literal, out);
        }
        for piece in &marker.later {
            match piece {
                Piece::Text(text) => self.take(parser, Found::Text(text), out),
                Piece::Marker(index, literal) => self.take(parser, Found::Marker(*index, literal), out),
            }
        }
    }
}
