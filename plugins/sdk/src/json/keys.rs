//! Keys of a call's object: under which keys a format has the tool's name and the arguments, and
//! which others calls have. [`super::Call`] asks for each key once.
//!
//! Invariant: text under any other key, or between members, is noticed ([`Foreign`]): the call that
//! it stands in is incomplete, since dropping the text would lose it.

use super::{Event, Scanner};

/// What the value of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Key {
    Name,
    Arguments,
    /// Nothing: the value is dropped with the format's literal syntax ([`SYNTAX`]), or is foreign.
    #[default]
    Other,
}

/// Other keys that calls have.
const SYNTAX: [&str; 5] = ["id", "type", "index", "call_id", "tool_call_id"];

/// Watches an object for text that no part of a call takes.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    found: bool,
    /// Whether the last key is foreign, and its value not read yet.
    at_key: bool,
}

impl Foreign {
    /// Takes the event of `byte`; `scanner` has read it. The members that `is_part` of a call says
    /// of are none of these.
    pub(super) fn notice(&mut self, event: Event, byte: u8, scanner: &Scanner, is_part: bool) {
        match event {
            Event::Key => {
                self.found |= self.at_key;
                let is_syntax = || scanner.string().is_some_and(|key| SYNTAX.contains(&&*key));
                self.at_key = !is_part && !is_syntax();
            }
            // Numbers and literals have no words.
            Event::ValueStart if matches!(byte, b't' | b'f' | b'n' | b'-' | b'0'..=b'9') => {
                self.at_key = false;
            }
            Event::ValueEnd => {
                self.found |= self.at_key && scanner.raw_string() != Some(b"");
                self.found |= !is_part && has_words(scanner);
                self.at_key = false;
            }
            Event::Stray => self.found = true,
            _ => {}
        }
    }

    /// Reports such text.
    pub(super) fn add(&mut self) {
        self.found = true;
    }

    /// Whether there was such text, in an object that ends here; `scanner` is in one that doesn't.
    pub(super) fn is_found(&self, scanner: Option<&Scanner>) -> bool {
        let in_words = |scanner: &Scanner| scanner.in_string() && has_words(scanner);
        self.found || self.at_key || scanner.is_some_and(in_words)
    }
}

/// Whether the last string is several words, as no id or type is.
fn has_words(scanner: &Scanner) -> bool {
    scanner.raw_string().is_some_and(|text| text.contains(&b' '))
}

/// A format's keys, where they aren't the usual ones: `name`, and `arguments` or `parameters`.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Option<(String, String)>);

impl Keys {
    pub(super) fn new(name: &str, arguments: &str) -> Self {
        let usual = name == "name" && matches!(arguments, "arguments" | "parameters");
        Self((!usual).then(|| (name.to_owned(), arguments.to_owned())))
    }

    /// Keys of a region in which no object is a call.
    pub(super) fn none() -> Self {
        Self::new("", "")
    }

    /// What the value of `key` is. `None` is a key that was too long to be kept.
    pub(super) fn key(&self, key: Option<&str>) -> Key {
        match (key, &self.0) {
            (Some(key), Some((name, _))) if key == name => Key::Name,
            (Some(key), Some((_, arguments))) if key == arguments => Key::Arguments,
            (Some("name"), None) => Key::Name,
            (Some("arguments" | "parameters"), None) => Key::Arguments,
            _ => Key::Other,
        }
    }
}
