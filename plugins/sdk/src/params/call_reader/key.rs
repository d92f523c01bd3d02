//! Keys of parameters, of which a model may have left out the end.
//!
//! Invariant: a key whose end is missing has no white space and no `=`; what follows these begins
//! the value. A tag that has `=` behind an expected key holds the value's beginning, too.

use super::{CallReader, State};
use crate::Output;
use crate::params::doubt::DOUBT;
use crate::params::{CallMark, CallProgress, Key, Style};

/// Length of a key and its value in one tag from which the tag's end isn't waited for, in bytes.
const LONG: usize = 48;

impl CallReader {
    /// Reads `text` of a key. Returns the number of bytes read.
    pub(super) fn read_key(&mut self, text: &str, out: &mut Output) -> usize {
        let end = if self.style.ends_by_marker() { None } else { text.find(['>', '\n']) };
        self.key.push_str(&text[..end.unwrap_or(text.len())]);
        let is_whole = end.is_some_and(|end| text[end..].starts_with('>'));
        let denied = if end.is_some() { !is_whole || !self.key_counts() } else { self.key.len() > DOUBT };
        if self.arguments.is_open() && denied {
            self.doubt.push(text);
            self.resume(0, out);
            self.values += usize::from(is_whole);
            return text.len();
        }
        let is_long = self.key.len() >= LONG && self.holds_value();
        let read = end.map_or(text.len(), |end| end + usize::from(is_whole && !is_long));
        self.doubt.push(&text[..read]);
        if is_long {
            // The tag's end can't be told from the value's text any more.
            self.is_broken = true;
            self.begin_unended(text.len() - read, out);
        } else if is_whole && self.holds_value() {
            self.begin_in_tag(text.len() - read, out);
        } else if is_whole {
            self.begin_value(text.len() - read, out);
        } else if end.is_some() {
            self.begin_unended(text.len() - read, out);
        }
        read
    }

    /// Whether the tag, which is whole, holds a value behind `=`: `<parameter=command=git status>`.
    fn holds_value(&self) -> bool {
        self.style == Style::Attribute
            && !self.arguments.is_open()
            && !self.arguments.lists(&self.key)
            && self.key.split_once('=').is_some_and(|(key, value)| {
                !value.trim().is_empty()
                    && !key.trim_start().contains(char::is_whitespace)
                    && self.arguments.expects(key)
            })
    }

    /// Begins the value that the tag holds. The tag's end is held: it is the value's own text, unless
    /// the value's end follows.
    fn begin_in_tag(&mut self, keep: usize, out: &mut Output) {
        out.hiding(keep + 1, |out| self.begin_unended(0, out));
        self.doubt(State::Value, ">");
    }

    /// Begins a key, `literal`, where one is expected.
    pub(super) fn begin_key(&mut self, literal: &str) -> CallProgress {
        self.doubt.clear();
        self.doubt(State::Key, literal)
    }

    /// Reads a marker in a key.
    pub(super) fn mark_key(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        let in_value = self.arguments.is_open();
        let ends = match mark {
            CallMark::KeyEnd => !in_value || self.key_counts(),
            CallMark::Value => !in_value || (self.breaks && self.style == Style::Typed && self.key_counts()),
            _ => false,
        };
        if ends {
            return self.end_key(mark, literal, out);
        }
        if in_value {
            return self.mark_resumed(mark, literal, out);
        }
        let begins_value = !self.style.has_attributes() && !split(&self.key).1.is_empty();
        if mark == CallMark::Key && !begins_value {
            // The words in front of it belong to nothing.
            self.is_broken |= !self.key.trim().is_empty();
            out.drop(out.held() - literal.len());
            return self.begin_key(literal);
        }
        self.begin_unended(literal.len(), out);
        self.mark(mark, literal, out)
    }

    /// A marker ends the key.
    pub(super) fn end_key(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        self.doubt.push(literal);
        self.begin_value(0, out);
        if mark == CallMark::Value && self.state == State::Before {
            self.begin_due(out);
            return self.flow(out);
        }
        CallProgress::Inside
    }

    /// Whether the key inside a value is a parameter's key and not part of the value.
    pub(super) fn key_counts(&self) -> bool {
        let Key { name, is_tag, .. } = self.style.key(&self.key);
        let is_inner = self.calls > self.values;
        let is_word = self.key.len() <= DOUBT && !name.contains(char::is_whitespace);
        is_tag && is_word && !is_inner && self.arguments.expects(&name)
    }

    /// Begins the value of a key that something else than its end ended: a second word, or the text
    /// behind `=`, begins the value.
    pub(super) fn begin_unended(&mut self, keep: usize, out: &mut Output) {
        let (key, value) =
            if self.style.has_attributes() { (self.key.as_str(), "") } else { split(&self.key) };
        if value.is_empty() || self.arguments.is_misplaced(key) {
            return self.begin_value(keep, out);
        }
        let (key, value) = (key.to_owned(), value.to_owned());
        self.key = key;
        self.begin_value(keep + value.len(), out);
        if self.state == State::Before {
            self.begin_due(out);
        }
        self.unwrap(keep + value.len(), out);
        self.arguments.pass_line();
        self.arguments.text(&value, keep, out);
    }
}

/// The key at the beginning of `text`, and the value's beginning behind it.
fn split(text: &str) -> (&str, &str) {
    let words = text.trim_start();
    let parts = words.split_once(|char: char| char.is_whitespace() || char == '=');
    parts.filter(|(key, value)| !key.is_empty() && !value.trim().is_empty()).unwrap_or((text, ""))
}
