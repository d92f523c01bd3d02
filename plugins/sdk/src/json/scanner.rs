//! Finds the members of one JSON object as its bytes arrive: where keys and values at depth 1 begin
//! and end.
//!
//! Invariant: the work per byte is constant, nothing recurses, and no text is kept but the last
//! short string at depth 1. It is lenient: it follows strings and brackets, and leaves to whoever
//! reads the value whether it is valid JSON. (Commas too many or missing, unknown literals and
//! mixed-up brackets inside a value don't stop it.)

use std::borrow::Cow;

use contract::json_text::unescape;

use crate::InString;

/// Longest string at depth 1 that is kept, in bytes as written. A name is shorter.
const KEPT: usize = 256;

/// What a byte begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// No event at this byte.
    Nothing,
    /// The object's opening brace.
    Object,
    /// Neither white space nor an opening brace, where the object should begin. No other event
    /// follows.
    NotAnObject,
    /// The closing quote of a key at depth 1; [`Scanner::string`] has it.
    Key,
    /// The first byte of a value at depth 1.
    ValueStart,
    /// The last byte of a value at depth 1. If it was a string, [`Scanner::string`] has it.
    ValueEnd,
    /// A value at depth 1 (a number or literal) ended before this byte.
    ValueEndBefore,
    /// A byte between members that JSON doesn't allow there: words, or a value without a key.
    Stray,
    /// The object's closing brace; it also ends a number or literal before it. No other event
    /// follows.
    End,
}

/// Scanner of one object; its state after the bytes read so far.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    place: Place,
    depth: usize,
    string: InString,
    /// Whether the open string is at depth 1, so that `kept` takes its bytes.
    keep: bool,
    /// The last string at depth 1 with its opening quote, as written.
    kept: Vec<u8>,
}

/// Position in the object, at depth 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Before,
    /// Where a key may begin, or in one.
    Key,
    /// After a key, where its value may begin.
    Colon,
    /// In a string or a container.
    Value,
    /// In a number or literal.
    Bare,
    After,
}

impl Scanner {
    /// A scanner of a value that stands alone; the value's end is [`Event::ValueEnd`].
    pub fn at_value() -> Self {
        Self { place: Place::Colon, depth: 1, ..Self::default() }
    }

    /// Whether the next byte is inside a string.
    pub fn in_string(&self) -> bool {
        self.string != InString::No
    }

    /// Whether the next byte is inside a key at depth 1.
    pub(super) fn in_key(&self) -> bool {
        self.in_string() && self.keep && self.place == Place::Key
    }

    /// Number of open braces and brackets.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The key or string value at depth 1 that ended last, as written between its quotes; none if
    /// it was too long to be kept, or if the last value was no string.
    pub fn raw_string(&self) -> Option<&[u8]> {
        (self.kept.len() <= KEPT && !self.kept.is_empty()).then(|| &self.kept[1..])
    }

    /// [`Self::raw_string`] with its escapes decoded.
    pub fn string(&self) -> Option<Cow<'_, str>> {
        let raw = self.raw_string()?;
        let text = String::from_utf8_lossy(raw);
        Some(if raw.contains(&b'\\') { unescape(&text).into() } else { text })
    }

    /// Number of leading `bytes` that need not be pushed: below depth 1 they mean nothing, inside a
    /// string or between strings and brackets.
    pub fn skip(&self, bytes: &[u8]) -> usize {
        let skipped = match self.string {
            InString::Yes if !self.keep => bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')),
            InString::No if self.depth > 1 => {
                bytes.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'))
            }
            _ => return 0,
        };
        skipped.unwrap_or(bytes.len())
    }

    /// Takes the leading `bytes` behind which nothing has begun or ended: those that need not be
    /// pushed, and those of a key or string at depth 1. Returns their number.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> usize {
        if !self.keep || self.string != InString::Yes {
            return self.skip(bytes);
        }
        let end = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(bytes.len());
        let room = (KEPT + 1).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..end.min(room)]);
        end
    }

    /// The bytes that [`Self::skip`] would stop at here; none where it skips nothing.
    pub fn stops(&self) -> Option<&'static str> {
        match self.string {
            InString::Yes if !self.keep => Some("\"\\"),
            InString::No if self.depth > 1 => Some("\"{[}]"),
            _ => None,
        }
    }

    /// [`Self::stops`] where `text`, which was just read, ended in a string or has none of these
    /// bytes.
    pub fn stops_behind(&self, text: &[u8]) -> Option<&'static str> {
        self.stops().filter(|_| self.in_string() || self.skip(text) == text.len())
    }

    /// Hands the container at depth 1 over to another reader, such as the host, up to its last
    /// bracket: that is the byte to be pushed next. Returns the number of the container's open
    /// brackets, and whether a string is open; `None` where no container is open.
    pub fn hand_over(&mut self) -> Option<(u32, InString)> {
        if self.depth < 2 || self.place != Place::Value {
            return None;
        }
        let open = u32::try_from(self.depth - 1).ok()?;
        self.depth = 2;
        Some((open, std::mem::take(&mut self.string)))
    }

    /// A scanner inside a value that stands alone, with the state that [`Self::hand_over`]
    /// returned.
    pub fn inside_value(open: u32, string: InString) -> Self {
        Self { place: Place::Value, depth: open as usize + 1, string, ..Self::default() }
    }

    /// Reads `bytes` up to the object's end. Returns the number of bytes read if the end came.
    pub fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        self.read_to(Event::End, bytes)
    }

    /// Reads `bytes` up to the first byte that is `event`. Returns the number of bytes read if that
    /// byte came.
    pub fn read_to(&mut self, event: Event, bytes: &[u8]) -> Option<usize> {
        let mut read = 0;
        loop {
            read += self.pass(&bytes[read..]);
            let byte = *bytes.get(read)?;
            read += 1;
            if self.push(byte) == event {
                return Some(read);
            }
        }
    }

    /// Takes the next byte.
    pub fn push(&mut self, byte: u8) -> Event {
        match self.string {
            InString::Yes => self.inside(byte),
            InString::AfterBackslash => {
                self.string = InString::Yes;
                self.keep_byte(byte);
                Event::Nothing
            }
            InString::No => self.outside(byte),
        }
    }

    fn inside(&mut self, byte: u8) -> Event {
        match byte {
            b'"' => return self.end_string(),
            b'\\' => self.string = InString::AfterBackslash,
            _ => {}
        }
        self.keep_byte(byte);
        Event::Nothing
    }

    fn outside(&mut self, byte: u8) -> Event {
        match byte {
            _ if self.place == Place::Before => self.before(byte),
            _ if self.place == Place::After => Event::Nothing,
            b'"' => self.begin_string(),
            b'{' | b'[' => {
                self.depth += 1;
                self.begin_value(Place::Value)
            }
            b'}' | b']' => self.close(byte),
            _ if self.depth > 1 => Event::Nothing,
            b' ' | b'\n' | b'\r' | b'\t' | b',' if self.place == Place::Bare => {
                self.place = Place::Key;
                Event::ValueEndBefore
            }
            b' ' | b'\n' | b'\r' | b'\t' | b':' => Event::Nothing,
            b',' => {
                self.place = Place::Key;
                Event::Nothing
            }
            _ => self.begin_value(Place::Bare),
        }
    }

    /// Takes a byte before the object, or the object's first byte.
    fn before(&mut self, byte: u8) -> Event {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => Event::Nothing,
            b'{' => {
                (self.place, self.depth) = (Place::Key, 1);
                Event::Object
            }
            _ => {
                self.place = Place::After;
                Event::NotAnObject
            }
        }
    }

    /// Begins a value if the last key has none yet.
    fn begin_value(&mut self, place: Place) -> Event {
        match self.place {
            Place::Colon => {}
            Place::Key => return Event::Stray,
            _ => return Event::Nothing,
        }
        self.place = place;
        self.kept.clear();
        Event::ValueStart
    }

    fn begin_string(&mut self) -> Event {
        self.string = InString::Yes;
        self.keep = self.depth == 1 && matches!(self.place, Place::Key | Place::Colon);
        let is_value = self.place == Place::Colon;
        let event = if is_value { self.begin_value(Place::Value) } else { Event::Nothing };
        if self.keep {
            self.kept.clear();
            self.keep_byte(b'"');
        }
        event
    }

    fn end_string(&mut self) -> Event {
        self.string = InString::No;
        if !std::mem::take(&mut self.keep) {
            return Event::Nothing;
        }
        let is_key = self.place == Place::Key;
        self.place = if is_key { Place::Colon } else { Place::Key };
        if is_key { Event::Key } else { Event::ValueEnd }
    }

    fn close(&mut self, byte: u8) -> Event {
        match self.depth {
            1 if byte == b'}' => {
                (self.place, self.depth) = (Place::After, 0);
                Event::End
            }
            1 => Event::Nothing,
            _ => {
                self.depth -= 1;
                if self.depth > 1 || self.place != Place::Value {
                    return Event::Nothing;
                }
                self.place = Place::Key;
                Event::ValueEnd
            }
        }
    }

    fn keep_byte(&mut self, byte: u8) {
        if self.keep && self.kept.len() <= KEPT {
            self.kept.push(byte);
        }
    }
}
