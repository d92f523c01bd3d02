//! Custom tools in JSON formats: the model is shown a function with one string, `input`, whose
//! value is the tool's text.
//!
//! [`Seek`] finds where that string begins; `Call` and `ArgumentsText` hold the object's bytes
//! until the search has ended.

use super::{Event, Scanner};

/// Number of bytes that are searched; a string `input` that begins later isn't found. It bounds
/// what is held.
const LOOKED_AT: usize = 64;

/// A search through the first bytes of what may be an object.
#[derive(Debug, Default)]
pub(super) struct Seek {
    scanner: Scanner,
    read: usize,
    at_input: bool,
}

/// Result of a search so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    /// Not decided yet.
    Seeking,
    /// The next byte is the first inside the string `input`.
    Found,
    /// The bytes searched have no string `input`.
    Missing,
}

impl Seek {
    /// The object, read up to the opening quote of its string `input`.
    pub(super) fn into_object(self) -> Scanner {
        self.scanner
    }

    /// Takes the next byte.
    pub(super) fn push(&mut self, byte: u8) -> Sought {
        self.read += 1;
        match self.scanner.push(byte) {
            Event::Key => self.at_input = self.scanner.string().as_deref() == Some("input"),
            Event::ValueStart if self.at_input && byte == b'"' => return Sought::Found,
            Event::ValueStart if self.at_input => return Sought::Missing,
            Event::NotAnObject | Event::End => return Sought::Missing,
            _ => {}
        }
        if self.read < LOOKED_AT { Sought::Seeking } else { Sought::Missing }
    }
}
