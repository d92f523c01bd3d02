//! Decides whether a JSON object that stands bare in a message is a call, as early as its bytes
//! allow. Parsers of formats without call markup ask [`Bare`] before they read a [`Call`].
//!
//! The object is a call if it has a name and arguments, and before them only keys that calls have
//! (`{"name": …, "description": …}` describes something). Without arguments it is a call if its
//! name is a declared tool's. The definition of a declared tool that has no other key than `name`
//! and `parameters` can't be told from a call, and counts as one.
//!
//! Invariant: the object is held only while every key and word so far could be a call's. A key that
//! calls don't have, a type that isn't `function`, and a name that no declared tool begins with end
//! the hold with their first differing byte.

use super::{Call, Event, Scanner};
use crate::{Output, Tools};

/// Keys that a call has up to its arguments.
const KEYS: [&str; 5] = ["name", "type", "function", "parameters", "arguments"];

/// What the bytes read so far make of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The object may be a call.
    Undecided,
    /// The object is a call: its name has been read, and the key of its arguments or the whole
    /// object but the last brace.
    Call,
    /// The object isn't a call.
    Content,
}

/// Which names make an object a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Name {
    /// Names of declared tools.
    #[default]
    Declared,
    /// All names: markup before the object announced a call.
    Any,
}

/// Kind of the name that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReadName {
    /// No name has been read, or one that makes no call.
    #[default]
    None,
    Undeclared,
    Declared,
}

/// Reader of an object or a list of objects. In `{"type": "function", "function": {…}}` the inner
/// object is the call.
#[derive(Debug, Default)]
pub struct Bare {
    name: Name,
    text: Vec<u8>,
    /// Offset in `text` of the call's own object.
    start: usize,
    scanner: Scanner,
    begun: bool,
    nested: bool,
    /// Kind of the object's name.
    read_name: ReadName,
    /// Whether the key of the arguments has been read.
    argued: bool,
    key: Option<&'static str>,
    /// Offset in `text` of the present key, type or name.
    word: usize,
}

impl Bare {
    /// Reader of an object that is a call if it has a name of this kind.
    pub fn of(name: Name) -> Self {
        Self { name, ..Self::default() }
    }

    /// Which names make the object a call.
    pub fn name(&self) -> Name {
        self.name
    }

    /// The object as a call, read as far as the object was. `markup` bytes are held before the
    /// object.
    pub fn call(&self, markup: usize, tools: &Tools, out: &mut Output) -> Call {
        let mut call = Call::after(markup + self.start);
        call.read(&self.text[self.start..], tools, out);
        call
    }

    /// Whether the name of a tool has begun.
    pub fn begins_name(&self) -> bool {
        self.key == Some("name") && self.scanner.in_string() && self.text.len() > self.word
    }

    /// Whether the next byte is inside a string of the arguments, where a marker is text.
    pub fn in_string(&self) -> bool {
        self.scanner.in_string() && self.scanner.depth() > 1
    }

    /// Whether a name that makes the object a call has been read.
    pub fn is_named(&self) -> bool {
        self.read_name != ReadName::None
    }

    /// Reads `text` up to the verdict. Returns the verdict and the number of bytes read; `tools`
    /// are the tools that may be called. The brace that ends a call isn't read.
    pub fn read(&mut self, text: &[u8], tools: &Tools) -> (Verdict, usize) {
        for (index, byte) in text.iter().enumerate() {
            let verdict = self.push(*byte, tools);
            if verdict == Verdict::Call && self.text.last() == Some(&b'}') {
                self.text.pop();
                return (verdict, index);
            }
            if verdict != Verdict::Undecided {
                return (verdict, index + 1);
            }
        }
        (Verdict::Undecided, text.len())
    }

    fn push(&mut self, byte: u8, tools: &Tools) -> Verdict {
        self.text.push(byte);
        if !self.begun {
            return self.before(byte);
        }
        let was_in_string = self.scanner.in_string();
        let fits = match self.scanner.push(byte) {
            Event::Key => {
                let key = self.scanner.string();
                self.key = KEYS.into_iter().find(|known| Some(*known) == key.as_deref());
                self.argued |= matches!(self.key, Some("parameters" | "arguments"));
                if self.is_named() && self.argued {
                    return Verdict::Call;
                }
                self.key.is_some()
            }
            Event::ValueStart => self.begin_value(byte),
            Event::ValueEnd if self.key == Some("name") => {
                let name = self.scanner.string().unwrap_or_default();
                self.read_name = match self.name {
                    _ if tools.contains(&name) => ReadName::Declared,
                    Name::Any if !name.is_empty() => ReadName::Undeclared,
                    _ => ReadName::None,
                };
                self.key = None;
                if self.is_named() && self.argued {
                    return Verdict::Call;
                }
                self.is_named()
            }
            Event::End if self.read_name == ReadName::Declared => return Verdict::Call,
            Event::ValueEnd | Event::ValueEndBefore => {
                let is_function = self.scanner.string().as_deref() == Some("function");
                self.key.take() != Some("type") || is_function
            }
            Event::NotAnObject | Event::End => false,
            _ if self.scanner.in_string() => self.word_fits(was_in_string, tools),
            _ => self.key.is_some() || b" \n\r\t,".contains(&byte),
        };
        if fits { Verdict::Undecided } else { Verdict::Content }
    }

    /// Takes a byte before the object, where one bracket may open a list of calls.
    fn before(&mut self, byte: u8) -> Verdict {
        match byte {
            b'{' => self.begin(),
            b' ' | b'\n' | b'\r' | b'\t' => {}
            b'[' if !self.text[..self.text.len() - 1].contains(&b'[') => {}
            _ => return Verdict::Content,
        }
        Verdict::Undecided
    }

    fn begin(&mut self) {
        (self.begun, self.key, self.start) = (true, None, self.text.len() - 1);
        self.scanner = Scanner::default();
        self.scanner.push(b'{');
    }

    fn begin_value(&mut self, byte: u8) -> bool {
        self.word = self.text.len();
        match (self.key, byte) {
            (Some("name" | "type"), b'"') | (Some("parameters" | "arguments"), _) => true,
            (Some("function"), b'{') if !self.nested => {
                self.nested = true;
                self.begin();
                true
            }
            _ => false,
        }
    }

    /// Whether a key, a type or a name can still become one that a call has.
    fn word_fits(&mut self, was_in_string: bool, tools: &Tools) -> bool {
        if !was_in_string {
            self.word = self.text.len();
            return true;
        }
        let begins = |word: &str| word.as_bytes().starts_with(&self.text[self.word..]);
        match self.key {
            None => KEYS.into_iter().any(begins),
            Some("type") => begins("function"),
            Some("name") => self.name == Name::Any || tools.names().any(begins),
            _ => true,
        }
    }
}
