//! Custom tools in JSON formats: the model is shown a function with one string, `input`, whose
//! value is the tool's text.
//!
//! [`Seek`] finds where that string begins; `Call` and `ArgumentsText` hold the object's bytes
//! until the search has ended. [`Rest`] reads what stands behind it: a call with other members or
//! words there is incomplete. An object with another member before `input` isn't the tool's text,
//! and goes out as it is.

use super::{Event, Scanner};

/// Number of bytes that are searched; a string `input` that begins later isn't found. It bounds
/// what is held.
const LOOKED_AT: usize = 64;

/// A search through the first bytes of what may be an object.
#[derive(Debug, Default)]
pub(super) struct Seek {
    scanner: Scanner,
    read: usize,
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
    /// The object's rest, from the inside of its string `input` on.
    pub(super) fn into_rest(self) -> Rest {
        Rest { object: self.scanner, is_foreign: false }
    }

    /// Takes the next byte.
    pub(super) fn push(&mut self, byte: u8) -> Sought {
        self.read += 1;
        match self.scanner.push(byte) {
            Event::Key if self.scanner.string().as_deref() == Some("input") => {}
            Event::ValueStart if byte == b'"' => return Sought::Found,
            Event::Nothing | Event::Object => {}
            _ => return Sought::Missing,
        }
        if self.read < LOOKED_AT { Sought::Seeking } else { Sought::Missing }
    }
}

/// An object behind the opening quote of its string `input`, without the string's inside.
#[derive(Debug, Default)]
pub(super) struct Rest {
    object: Scanner,
    is_foreign: bool,
}

impl Rest {
    /// Reads `text`. Returns the number of bytes read if the object ended.
    pub(super) fn read(&mut self, text: &[u8]) -> Option<usize> {
        let is_end = |byte: &u8| {
            let event = self.object.push(*byte);
            self.is_foreign |= matches!(event, Event::Key | Event::Stray);
            event == Event::End
        };
        text.iter().position(is_end).map(|at| at + 1)
    }

    /// Whether other members or words stand in it.
    pub(super) fn is_foreign(&self) -> bool {
        self.is_foreign
    }
}
