//! Arguments that stand alone, up to a marker: passed on verbatim. A marker inside a string doesn't
//! end them ([`ArgumentsText::in_string`]).
//!
//! Invariant: white space and a Markdown fence around the arguments are dropped; held is only what
//! may belong to a fence, or precedes the string `input`. A JSON string is decoded (its inside is
//! the JSON). Arguments of a custom tool are the decoded string `input` of their object; without
//! that string they go out as they are. JSON ends with its last bracket, and the call with it: what
//! follows is the parser's.

mod steps;

use super::fence::{TICKS, goes_on, may_close, ticks};
use super::input::{Rest, Seek};
use super::{Scanner, quoted::Quoted};
use crate::{Output, Payload, Route};

/// The arguments of one call.
#[derive(Debug)]
pub struct ArgumentsText {
    payload: Payload,
    place: Place,
    /// Number of bytes held in [`Place::Fence`] and [`Place::Seek`].
    held: usize,
    fenced: bool,
    /// Text that may close the fence, held behind the `held` bytes.
    tail: Vec<u8>,
    written: bool,
    /// Whether text beside the arguments was dropped, so that the call is incomplete.
    is_foreign: bool,
}

#[derive(Debug)]
enum Place {
    /// Nothing but white space so far.
    Before,
    /// In a line that may open a fence, behind its first white space or before it.
    Fence(bool),
    /// Before the string `input` of a custom tool's object.
    Seek(Seek),
    /// In an object or a list.
    Json(Scanner),
    Verbatim,
    /// Inside a string that is decoded, and the rest of the object whose `input` it is.
    String(Quoted, Option<Rest>),
    /// In the rest of the object behind its `input`, which is dropped.
    Rest(Rest),
    /// After the value.
    Ended,
}

impl ArgumentsText {
    /// The arguments of a call with this payload.
    pub fn new(payload: Payload) -> Self {
        let (place, tail) = (Place::Before, Vec::new());
        Self { payload, place, held: 0, fenced: false, tail, written: false, is_foreign: false }
    }

    /// Arguments that are plain text, whatever they look like.
    pub fn raw() -> Self {
        Self { place: Place::Verbatim, ..Self::new(Payload::Text) }
    }

    /// Whether nothing but white space was read so far.
    pub fn is_empty(&self) -> bool {
        matches!(self.place, Place::Before) && self.tail.is_empty()
    }

    /// Whether the arguments are whole: all brackets are closed, or the decoded string is.
    pub fn has_ended(&self) -> bool {
        matches!(self.place, Place::Ended | Place::Rest(_))
    }

    /// Whether the next byte is inside a string: a marker there is text, unless it ends the turn.
    pub fn in_string(&self) -> bool {
        let in_json = matches!(&self.place, Place::Json(scanner) if scanner.in_string());
        in_json || matches!(self.place, Place::String(..))
    }

    /// Whether brackets or a string are open.
    pub fn is_open(&self) -> bool {
        matches!(self.place, Place::Json(_) | Place::String(..))
    }

    /// Scanner of the object or list being read, unless a fence may end that.
    pub(super) fn json(&mut self) -> Option<&mut Scanner> {
        match &mut self.place {
            Place::Json(scanner) if !self.fenced => Some(scanner),
            _ => None,
        }
    }

    /// Reads `text`, behind which the `keep` youngest bytes are held. Text that only a marker can
    /// end goes out up to the next marker. The host follows JSON to its last bracket without asking
    /// about markers in strings; for those outside there is [`Self::interrupt`]. Closes the call at
    /// the end of its JSON, and returns the number of bytes read if it came.
    pub fn text(&mut self, text: &str, keep: usize, out: &mut Output) -> Option<usize> {
        let end = self.read(text.as_bytes(), out);
        if end.is_some() {
            self.close(out);
            return end;
        }
        if matches!(self.place, Place::Verbatim) && !self.fenced {
            out.flow(Route::Arguments, keep);
            return None;
        }
        let rest = if keep == 0 { self.json().and_then(Scanner::hand_over) } else { None };
        if let Some((depth, in_string)) = rest {
            out.until_json(Route::Arguments, depth, in_string);
        }
        None
    }

    /// Whether the arguments go out as they are, with nothing in them that ends them.
    pub fn is_verbatim(&self) -> bool {
        matches!(self.place, Place::Verbatim)
    }

    /// Makes the call incomplete, however its arguments end: words beside them were dropped.
    pub fn mark_incomplete(&mut self) {
        self.is_foreign = true;
    }

    /// Reports a marker that doesn't end the arguments. Outside of a string it isn't JSON, so the
    /// rest is passed on verbatim.
    pub fn interrupt(&mut self) {
        if matches!(&self.place, Place::Json(scanner) if !scanner.in_string()) {
            self.place = Place::Verbatim;
        }
    }

    /// Reads `text` up to the end of the JSON. Returns the number of bytes read if it came.
    pub fn read(&mut self, text: &[u8], out: &mut Output) -> Option<usize> {
        let (decodes, length) = (self.decodes(), text.len());
        let mut text = text;
        while !text.is_empty() {
            let may_end = self.fenced && !matches!(self.place, Place::String(..) | Place::Rest(_));
            let certain = if may_end {
                text.iter().rposition(|byte| !may_close(*byte)).map_or(0, |at| at + 1)
            } else {
                text.len()
            };
            if certain == 0 {
                self.hold_tail(text, out);
                return None;
            }
            self.release_tail(out);
            text = &text[self.step(&text[..certain], out)..];
            if matches!(self.place, Place::Ended) {
                return Some(length - text.len());
            }
        }
        if decodes && self.decodes() {
            out.until_byte(Route::ArgumentsUnescaped, "\"\\");
        }
        None
    }

    /// Whether the next byte is inside a decoded string and not escaped, so that only a quote or a
    /// backslash decides anything.
    fn decodes(&self) -> bool {
        matches!(&self.place, Place::String(string, _) if !string.is_escaped())
    }

    /// Completes the call, with `{}` where there are no JSON arguments, unless text beside
    /// them was dropped. To be called before the markup behind the arguments is dropped.
    pub fn close(&mut self, out: &mut Output) {
        if self.is_foreign {
            return self.give_up(out);
        }
        self.release(out);
        if !self.written && self.payload == Payload::Json {
            out.derive("{}");
        }
        out.close();
    }

    /// Ends the call with the turn: closes it if the arguments are complete. Those that went out
    /// verbatim are, if they are text: in JSON a marker may have been lost.
    pub fn finish(&mut self, out: &mut Output) {
        self.release(out);
        match (self.payload, &self.place) {
            (Payload::Json, Place::Verbatim) => self.give_up(out),
            (Payload::Text, Place::Verbatim) => self.close(out),
            _ if self.is_empty() || self.has_ended() => self.close(out),
            _ => {}
        }
    }

    /// Ends the call as incomplete: other output follows.
    pub fn give_up(&mut self, out: &mut Output) {
        self.release(out);
        out.message("");
    }

    /// Routes the bytes that are still held, at the end of the arguments. [`ArgumentsText::close`]
    /// does it too.
    pub fn release(&mut self, out: &mut Output) {
        let closing = ticks(&self.tail) == TICKS;
        if !closing {
            self.release_tail(out);
        }
        self.release_held(out);
        if closing {
            out.drop(self.tail.len());
            self.tail.clear();
        }
    }

    /// Holds `text`, which may close the fence.
    fn hold_tail(&mut self, text: &[u8], out: &mut Output) {
        for byte in text {
            if !goes_on(&self.tail, *byte) {
                self.release_tail(out);
            }
            self.tail.push(*byte);
        }
    }

    /// Reads the held `tail` as part of the arguments, since it doesn't close the fence.
    fn release_tail(&mut self, out: &mut Output) {
        let mut tail = std::mem::take(&mut self.tail);
        let mut rest = tail.as_slice();
        while !rest.is_empty() {
            rest = &rest[self.step(rest, out)..];
        }
        tail.clear();
        self.tail = tail;
    }

    /// Routes the `held` bytes as arguments, since they open no fence and no string `input` follows
    /// them.
    fn release_held(&mut self, out: &mut Output) {
        if self.held > 0 {
            self.write(self.held, out);
            (self.place, self.held) = (Place::Verbatim, 0);
        }
    }

    /// Reads the first bytes of `text`. Returns how many, as does every function called here.
    fn step(&mut self, text: &[u8], out: &mut Output) -> usize {
        match self.place {
            Place::Before => self.before(text, out),
            Place::Fence(_) => self.fence(text, out),
            Place::Seek(_) => self.seek(text, out),
            Place::String(..) => self.string(text, out),
            Place::Json(_) => self.value(text, out),
            Place::Verbatim => self.write(text.len(), out),
            Place::Rest(_) => self.rest(text, out),
            Place::Ended => 0,
        }
    }
}
