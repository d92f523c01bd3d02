//! Arguments as lines of a key and a value, as the content `kv-lines` has them: `city: Oslo`. A
//! line without a key is markup.
//!
//! Invariant: held are a key that isn't whole, or what may belong to a value's end: white space,
//! and the beginning of what ends lines.

use parser_sdk::params::ArgumentsWriter;
use parser_sdk::{Output, Reading, Route};

/// Longest key, and longest white space inside a value that is held, in bytes.
const KEY: usize = 256;

/// How lines are spelt.
#[derive(Debug, Clone)]
pub(crate) struct Spelling {
    /// What ends a line.
    pub(crate) line: String,
    /// What stands behind a key.
    pub(crate) key: String,
    /// Whether white space around keys and values is markup.
    pub(crate) trims: bool,
}

/// The arguments of one call.
#[derive(Debug)]
pub(crate) struct LineArguments {
    arguments: ArgumentsWriter,
    spelling: Spelling,
    place: Place,
    /// The text that is held.
    pending: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Key,
    /// In a value, of which something was written or not.
    Value {
        has_begun: bool,
    },
    /// In a line without a key.
    Skipped,
}

impl LineArguments {
    pub(crate) fn new(arguments: ArgumentsWriter, spelling: Spelling) -> Self {
        Self { arguments, spelling, place: Place::Key, pending: String::new() }
    }

    /// Reads `text`, behind which nothing is held.
    pub(crate) fn read(&mut self, text: &str, out: &mut Output) {
        self.pending.push_str(text);
        while match self.place {
            Place::Key => self.key(out),
            Place::Value { has_begun } => self.value(has_begun, out),
            Place::Skipped => self.skip(out),
        } {}
    }

    /// Ends the call at the region's close, before the last `bytes` held bytes, or with the turn.
    /// The last line needs no end.
    pub(crate) fn end(&mut self, is_closed: bool, bytes: usize, out: &mut Output) {
        if is_closed {
            if let Place::Value { has_begun } = self.place {
                out.hiding(bytes, |out| self.write(self.pending.len(), has_begun, out));
                self.arguments.end(bytes, out);
            }
            self.arguments.close(out);
        }
        out.drop(out.held() - bytes);
    }

    /// Reads a key. Returns whether more can be read.
    fn key(&mut self, out: &mut Output) -> bool {
        let Spelling { line, key, .. } = &self.spelling;
        let (line_at, key_at) = (self.pending.find(line), self.pending.find(key));
        let (line, key) = (line.len(), key.len());
        match (line_at, key_at) {
            (_, Some(at)) if line_at.is_none_or(|line_at| at < line_at) => {
                let name = self.trimmed(&self.pending[..at]).to_owned();
                self.drop(at + key, out);
                self.place = Place::Skipped;
                if !name.is_empty() {
                    self.arguments.begin_as(&name, Reading::Declared, out);
                    self.place = Place::Value { has_begun: false };
                }
            }
            (Some(at), _) => self.drop(at + line, out),
            _ if self.pending.len() > KEY => self.place = Place::Skipped,
            _ => return false,
        }
        true
    }

    fn value(&mut self, has_begun: bool, out: &mut Output) -> bool {
        if let Some(at) = self.pending.find(&self.spelling.line) {
            let behind = self.pending.split_off(at + self.spelling.line.len());
            self.write(at, has_begun, out);
            self.arguments.end(behind.len(), out);
            (self.pending, self.place) = (behind, Place::Key);
            return true;
        }
        self.write(self.certain(), has_begun, out);
        if self.pending.len() > KEY {
            out.take(Route::Value, self.pending.len());
            self.pending.clear();
        }
        false
    }

    fn skip(&mut self, out: &mut Output) -> bool {
        let end = self.pending.find(&self.spelling.line).map(|at| at + self.spelling.line.len());
        self.drop(end.unwrap_or(self.certain()), out);
        if end.is_some() {
            self.place = Place::Key;
        }
        end.is_some()
    }

    /// Writes the first `bytes` pending bytes, but for white space that may stand at the value's
    /// ends.
    fn write(&mut self, bytes: usize, has_begun: bool, out: &mut Output) {
        let text = &self.pending[..bytes];
        let begin = if has_begun { 0 } else { bytes - self.trimmed_start(text).len() };
        let value = if self.spelling.trims { text[begin..].trim_end().len() } else { bytes - begin };
        out.drop(begin);
        out.take(Route::Value, value);
        self.pending.drain(..begin + value);
        self.place = Place::Value { has_begun: has_begun || value > 0 };
    }

    fn drop(&mut self, bytes: usize, out: &mut Output) {
        out.drop(bytes);
        self.pending.drain(..bytes);
    }

    /// Number of pending bytes that can't belong to the end of the line.
    fn certain(&self) -> usize {
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
