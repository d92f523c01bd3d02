//! The header of a call behind what may end a value or a call: the next call, whose predecessor has
//! no end, or text of the value.
//!
//! Invariant: only a declared name makes it a call; otherwise all of it, the end before it
//! included, is part of the value, or of what no parameter takes.

use super::super::{Mark, Progress, Style, Tag};
use super::{CallReader, State};
use crate::{Output, Tools};

impl CallReader {
    /// The name in the header, as far as it has been read.
    pub fn next_name(&self) -> &str {
        self.style.name(&self.key)
    }

    /// Begins the header of a call. Before the first parameter of the open call, and between a key
    /// and its value, a declared tool's call breaks the open one.
    pub(super) fn begin_name(&mut self, literal: &str) -> Progress {
        if self.state == State::Before {
            self.doubt.clear();
        }
        self.breaks |= self.state == State::Before || !self.arguments.has_begun();
        self.before_header = self.doubt.text().len();
        self.doubt_more(State::Called, literal)
    }

    /// Reads `text` of the name. Returns the number of bytes of the header in it once the header is
    /// whole and this call closed.
    pub(super) fn read_name(&mut self, text: &str, tools: &Tools, out: &mut Output) -> Option<usize> {
        let end = if self.style.ends_by_marker() { None } else { text.find('>') };
        self.key.push_str(&text[..end.unwrap_or(text.len())]);
        let name = self.next_name();
        let fits = match end {
            Some(_) => tools.contains(name) && self.style.is_tag(&self.key, false),
            // White space behind a name ends the name.
            None if self.key.ends_with(char::is_whitespace) && !name.is_empty() => tools.contains(name),
            None => tools.names().any(|declared| declared.starts_with(name)),
        };
        self.doubt.push(text);
        if !fits || self.key.len() > Tag::LONGEST {
            self.resume(0, out);
            return None;
        }
        let read = end? + 1;
        self.close(self.doubt.text().len() - self.before_header, out);
        Some(read)
    }

    /// Reads a marker behind the name, which ends it where the format has elements.
    pub(super) fn end_name(
        &mut self,
        mark: Mark,
        literal: &str,
        tools: &Tools,
        out: &mut Output,
    ) -> Progress {
        let is_header = self.style == Style::Elements && matches!(mark, Mark::Key | Mark::End);
        if is_header && tools.contains(self.next_name()) {
            self.close(self.doubt.text().len() - self.before_header + literal.len(), out);
            return Progress::Followed;
        }
        if mark == Mark::Stop {
            self.leave_name(literal.len(), out);
            return Progress::Left;
        }
        self.resume(literal.len(), out);
        if self.state == State::Between {
            return self.mark(mark, literal, tools, out);
        }
        self.in_value(mark, literal, out)
    }

    /// The turn ends in the header: the call before it is whole, and the one that it begins is
    /// broken. The `keep` youngest bytes stand behind the header.
    pub(super) fn leave_name(&mut self, keep: usize, out: &mut Output) {
        self.close(self.doubt.text().len() - self.before_header + keep, out);
        out.broken_call(keep);
    }
}
