//! Arguments as lines of a key and a value, as the content `kv-lines` has them: `city: Oslo`. A
//! line of words without a key makes the call incomplete.
//!
//! Invariant: held are a key that isn't whole, or what may belong to a value's end: white space,
//! and the beginning of what ends lines.

use parser_sdk::params::ArgumentsWriter;
use parser_sdk::{Output, Reading, Route};

use crate::table::{Lines, Within};

/// Longest key, and longest white space inside a value that is held, in bytes.
const KEY: usize = 256;

/// The arguments of one call.
#[derive(Debug)]
pub(crate) struct LineArguments {
    arguments: ArgumentsWriter,
    spelling: Lines,
    place: Place,
    /// The text that is held.
    pending: String,
    /// Where in it a line ends, if a token ends lines.
    line_end: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    /// In a value, of which something was written or not.
    Value {
        has_begun: bool,
    },
}

impl LineArguments {
    pub(crate) fn new(arguments: ArgumentsWriter, spelling: Lines) -> Self {
        Self { arguments, spelling, place: Place::Key, pending: String::new(), line_end: None }
    }

    /// Whether the next byte is in a value, or between lines.
    pub(crate) fn within(&self) -> Within {
        if self.place == Place::Key { Within::Parameters } else { Within::Line }
    }

    /// Whether all lines that began have ended; there is one at least.
    pub(crate) fn is_over(&self) -> bool {
        self.place == Place::Key && self.pending.trim().is_empty() && self.arguments.has_begun()
    }

    /// Reads `text`, which `is_marker` or not, and behind which nothing is held. Returns whether it
    /// belongs to lines with keys.
    pub(crate) fn read(&mut self, text: &str, is_marker: bool, out: &mut Output) -> bool {
        let ends_line = is_marker && text == self.spelling.line;
        self.line_end = ends_line.then_some(self.pending.len());
        self.pending.push_str(text);
        loop {
            let goes_on = match self.place {
                Place::Key => self.key(out),
                Place::Value { has_begun } => Some(self.value(has_begun, out)),
            };
            match goes_on {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
    }

    /// Ends the call at the region's close, before the last `bytes` held bytes, or with the turn.
    /// The last line needs no end.
    pub(crate) fn end(&mut self, is_closed: bool, bytes: usize, out: &mut Output) {
        let is_whole = self.place != Place::Key || self.pending.trim().is_empty();
        if is_closed && let Place::Value { has_begun } = self.place {
            out.hiding(bytes, |out| self.write(self.pending.len(), has_begun, out));
            self.arguments.end(bytes, out);
        }
        out.drop(out.held() - bytes);
        match is_closed {
            true if is_whole => self.arguments.close(out),
            true => out.message(""),
            false => {}
        }
    }

    /// Reads a key. Returns whether more can be read, and nothing if there are words without a key.
    fn key(&mut self, out: &mut Output) -> Option<bool> {
        let Lines { line, key, .. } = &self.spelling;
        let (line_at, key_at) = (self.line_at(), self.pending.find(key));
        let (line, key) = (line.len(), key.len());
        match (line_at, key_at) {
            (_, Some(at)) if line_at.is_none_or(|line_at| at < line_at) => {
                let name = self.trimmed(&self.pending[..at]).to_owned();
                if name.trim().is_empty() || self.arguments.is_given(&name) {
                    return None;
                }
                self.drop(at + key, out);
                self.arguments.begin_as(&name, Reading::Declared, out);
                self.place = Place::Value { has_begun: false };
            }
            (Some(at), _) if self.pending[..at].trim().is_empty() => self.drop(at + line, out),
            (Some(_), _) => return None,
            _ if self.pending.len() > KEY => return None,
            _ => return Some(false),
        }
        Some(true)
    }

    fn value(&mut self, has_begun: bool, out: &mut Output) -> bool {
        if let Some(at) = self.line_at() {
            let behind = self.pending.split_off(at + self.spelling.line.len());
            self.write(at, has_begun, out);
            self.arguments.end(behind.len(), out);
            (self.pending, self.place, self.line_end) = (behind, Place::Key, None);
            return true;
        }
        self.write(self.certain(), has_begun, out);
        if self.pending.len() > KEY {
            out.take(Route::Value, self.pending.len());
            self.take(self.pending.len());
        }
        false
    }

    /// Writes the first `bytes` pending bytes, but for white space that may stand at the value's
    /// ends.
    fn write(&mut self, bytes: usize, has_begun: bool, out: &mut Output) {
        let text = &self.pending[..bytes];
        let begin = if has_begun { 0 } else { bytes - self.trimmed_start(text).len() };
        let value = if self.spelling.trims { text[begin..].trim_end().len() } else { bytes - begin };
        out.drop(begin);
        out.take(Route::Value, value);
        self.take(begin + value);
        self.place = Place::Value { has_begun: has_begun || value > 0 };
    }

    fn drop(&mut self, bytes: usize, out: &mut Output) {
        out.drop(bytes);
        self.take(bytes);
    }

    /// Takes the first `bytes` pending bytes, which were routed.
    fn take(&mut self, bytes: usize) {
        self.pending.drain(..bytes);
        self.line_end = self.line_end.and_then(|at| at.checked_sub(bytes));
    }

    /// Where the first line ends, if it does: what looks like a token is text.
    fn line_at(&self) -> Option<usize> {
        if self.spelling.is_token { self.line_end } else { self.pending.find(&self.spelling.line) }
    }

    /// Number of pending bytes that can't belong to the end of the line.
    fn certain(&self) -> usize {
        if self.spelling.is_token {
            return self.pending.len();
        }
        let starts = self.spelling.line.char_indices().rev().map(|(at, _)| &self.spelling.line[..at]);
        let part = starts.map(|start| if self.pending.ends_with(start) { start.len() } else { 0 }).max();
        self.pending.len() - part.unwrap_or_default()
    }

    fn trimmed_start<'a>(&self, text: &'a str) -> &'a str {
        if self.spelling.trims { text.trim_start() } else { text }
    }

    fn trimmed<'a>(&self, text: &'a str) -> &'a str {
        if self.spelling.trims { text.trim() } else { text }
    }
}
