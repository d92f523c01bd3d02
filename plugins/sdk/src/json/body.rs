//! Arguments that stand alone, between markers that end them: passed on verbatim, so that nothing need be scanned.
//!
//! Invariant: white space before them is dropped, an opening `` ``` `` and the fence that closes it too, and of the rest no more
//! is held than may still be such a fence. A JSON string is decoded (its inside is the JSON). The arguments of a custom tool are the
//! decoded string `input` of their object; without one they go out as they are.

use super::input::{Seek, Sought};
use crate::{Output, Payload, Route};

/// Bytes that a line which opens a fence may have, and white space before one that closes it.
const FENCE: usize = 64;
/// Backticks of a fence.
const TICKS: usize = 3;

/// The arguments of one call.
#[derive(Debug)]
pub struct Body {
    payload: Payload,
    place: Place,
    /// Bytes read that are held in [`Place::Fence`] and [`Place::Seek`].
    held: usize,
    fenced: bool,
    /// What may close the fence: held too, after those.
    tail: Vec<u8>,
    written: bool,
}

#[derive(Debug)]
enum Place {
    /// Nothing but white space so far.
    Before,
    /// In the line that opens a fence, perhaps.
    Fence,
    /// In the object of a custom tool, before its string `input`.
    Seek(Seek),
    Verbatim,
    /// Inside a string that is decoded.
    String {
        escaped: bool,
    },
    /// After it.
    After,
}

impl Body {
    /// The arguments of a call that carries this.
    pub fn new(payload: Payload) -> Self {
        Self { payload, place: Place::Before, held: 0, fenced: false, tail: Vec::new(), written: false }
    }

    /// Arguments that are plain text, whatever they look like.
    pub fn raw() -> Self {
        Self { place: Place::Verbatim, ..Self::new(Payload::Text) }
    }

    /// Whether there is nothing yet but white space.
    pub fn is_empty(&self) -> bool {
        matches!(self.place, Place::Before) && self.tail.is_empty()
    }

    /// Whether they have ended by themselves. Of JSON that goes out verbatim only the host knows.
    pub fn has_ended(&self) -> bool {
        matches!(self.place, Place::After)
    }

    /// Whether what comes goes out as it is, and nothing but the call's end is looked for in it.
    pub(super) fn is_verbatim(&self) -> bool {
        matches!(self.place, Place::Verbatim) && !self.fenced
    }

    /// Reads on, behind which the `keep` youngest bytes are held. What nothing but a marker can end goes out until the next one.
    pub fn text(&mut self, text: &str, keep: usize, out: &mut Output) {
        self.read(text.as_bytes(), out);
        if self.is_verbatim() {
            out.flow(Route::Arguments, keep);
        }
    }

    /// The same for arguments that may end without a marker.
    pub fn read(&mut self, mut text: &[u8], out: &mut Output) {
        let in_string = self.in_string();
        while !text.is_empty() {
            let certain = if self.may_end_fenced() {
                text.iter().rposition(|byte| !may_close(*byte)).map_or(0, |at| at + 1)
            } else {
                text.len()
            };
            if certain == 0 {
                return self.hold_tail(text, out);
            }
            self.release_tail(out);
            text = &text[self.step(&text[..certain], out)..];
        }
        if in_string && self.in_string() {
            out.until_byte(Route::ArgumentsUnescaped, "\"\\");
        }
    }

    /// Whether the next byte is inside a string that is decoded, and decides nothing unless it ends it or escapes the one behind it.
    fn in_string(&self) -> bool {
        matches!(self.place, Place::String { escaped: false })
    }

    /// Completes the call, with `{}` where there are no JSON arguments. To be called before the markup behind them is dropped.
    pub fn close(&mut self, out: &mut Output) {
        self.release(out);
        if !self.written && self.payload == Payload::Json {
            out.derive("{}");
        }
        out.close();
    }

    /// The turn ended before anything closed the call: completes it where it is whole. Of JSON that went out verbatim the host says.
    pub fn finish(&mut self, out: &mut Output) {
        self.release(out);
        let is_text = self.payload == Payload::Text && matches!(self.place, Place::Verbatim);
        if is_text || self.is_empty() || self.has_ended() {
            self.close(out);
        }
    }

    /// Routes what is still held: no more will come. [`Body::close`] does it too.
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

    /// Whether the end of a fence may follow.
    fn may_end_fenced(&self) -> bool {
        self.fenced && !matches!(self.place, Place::String { .. } | Place::After)
    }

    /// Holds what may close the fence.
    fn hold_tail(&mut self, text: &[u8], out: &mut Output) {
        for byte in text {
            if !goes_on(&self.tail, *byte) {
                self.release_tail(out);
            }
            self.tail.push(*byte);
        }
    }

    /// What was held as a fence's end is none.
    fn release_tail(&mut self, out: &mut Output) {
        let mut tail = std::mem::take(&mut self.tail);
        let mut rest = tail.as_slice();
        while !rest.is_empty() {
            rest = &rest[self.step(rest, out)..];
        }
        tail.clear();
        self.tail = tail;
    }

    /// What was held as a fence's opening, or before a string `input`, is none.
    fn release_held(&mut self, out: &mut Output) {
        if self.held > 0 {
            self.written = true;
            out.arguments(self.held);
            (self.place, self.held) = (Place::Verbatim, 0);
        }
    }

    /// Reads some bytes; returns how many, as all that it calls do.
    fn step(&mut self, text: &[u8], out: &mut Output) -> usize {
        match self.place {
            Place::Before => return self.before(text, out),
            Place::Fence => return self.fence(text, out),
            Place::Seek(_) => return self.seek(text, out),
            Place::String { .. } => return self.string(text, out),
            Place::Verbatim => {
                self.written = true;
                out.arguments(text.len());
            }
            Place::After => out.drop(text.len()),
        }
        text.len()
    }

    fn before(&mut self, text: &[u8], out: &mut Output) -> usize {
        let white = text.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        out.drop(white);
        self.place = match (text.get(white), self.payload) {
            (None, _) => return white,
            (Some(b'`'), _) if !self.fenced => Place::Fence,
            (Some(b'{'), Payload::Text) => Place::Seek(Seek::default()),
            (Some(b'"'), Payload::Json) => {
                out.drop(1);
                self.place = Place::String { escaped: false };
                return white + 1;
            }
            _ => Place::Verbatim,
        };
        white
    }

    /// Three backticks, and what follows them up to the end of the line or the value.
    fn fence(&mut self, text: &[u8], out: &mut Output) -> usize {
        for (read, byte) in text.iter().enumerate() {
            let is_tick = *byte == b'`';
            if (self.held < TICKS && !is_tick) || self.held == FENCE {
                self.release_held(out);
                return read;
            }
            if matches!(byte, b'\n' | b'{' | b'"' | b'[') {
                out.drop(self.held);
                (self.place, self.fenced, self.held) = (Place::Before, true, 0);
                return read;
            }
            self.held += 1;
        }
        text.len()
    }

    fn seek(&mut self, text: &[u8], out: &mut Output) -> usize {
        let Place::Seek(seek) = &mut self.place else { return 0 };
        for (read, byte) in text.iter().enumerate() {
            self.held += 1;
            match seek.push(*byte) {
                Sought::Seeking => {}
                Sought::Found => {
                    out.drop(self.held);
                    (self.place, self.held) = (Place::String { escaped: false }, 0);
                    return read + 1;
                }
                Sought::Missing => {
                    self.release_held(out);
                    return read + 1;
                }
            }
        }
        text.len()
    }

    fn string(&mut self, text: &[u8], out: &mut Output) -> usize {
        let Place::String { escaped } = &mut self.place else { return 0 };
        let end = text.iter().position(|byte| {
            let is_plain = !std::mem::take(escaped);
            *escaped = is_plain && *byte == b'\\';
            is_plain && *byte == b'"'
        });
        let inside = end.unwrap_or(text.len());
        self.written |= inside > 0;
        out.take(Route::ArgumentsUnescaped, inside);
        if end.is_none() {
            return inside;
        }
        out.drop(1);
        self.place = Place::After;
        inside + 1
    }
}

/// Whether a fence may be closed by text that ends so.
fn may_close(byte: u8) -> bool {
    byte == b'`' || byte.is_ascii_whitespace()
}

/// Backticks of what may close a fence.
fn ticks(tail: &[u8]) -> usize {
    tail.iter().map(|byte| usize::from(*byte == b'`')).sum()
}

/// Whether `byte` after this still may close a fence: three backticks in a row, white space around them.
fn goes_on(tail: &[u8], byte: u8) -> bool {
    let is_whole = matches!(ticks(tail), 0 | TICKS);
    tail.len() < FENCE
        && if byte == b'`' { ticks(tail) < TICKS && (is_whole || tail.ends_with(b"`")) } else { is_whole }
}
