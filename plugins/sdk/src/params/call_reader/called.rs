//! The header of a call behind what may end a value or a call: the next call, whose predecessor has
//! no end, or text of the value.
//!
//! Invariant: only a declared name makes it a call; otherwise all of it, the end before it
//! included, is part of the value.

use super::super::{Mark, Progress, Style, Tag};
use super::CallReader;
use crate::{Output, Tools};

impl CallReader {
    /// The name in the header, as far as it has been read.
    pub fn next_name(&self) -> &str {
        self.style.name(&self.key)
    }

    /// Whether the end of this call counts whatever follows.
    pub fn ends_anywhere(&self) -> bool {
        self.ends_anywhere
    }

    /// Reads `text` of the name. Returns the number of bytes of the header in it once the header is
    /// whole and this call closed.
    pub(super) fn read_name(&mut self, text: &str, tools: &Tools, out: &mut Output) -> Option<usize> {
        let end = if self.style.ends_by_marker() { None } else { text.find('>') };
        self.key.push_str(&text[..end.unwrap_or(text.len())]);
        let name = self.next_name();
        let fits = match end {
            Some(_) => tools.contains(name),
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
        self.in_value(mark, literal, out)
    }

    /// The turn ends in the header: the call before it is whole, and the one that it begins is
    /// broken. The `keep` youngest bytes stand behind the header.
    pub(super) fn leave_name(&mut self, keep: usize, out: &mut Output) {
        self.close(self.doubt.text().len() - self.before_header + keep, out);
        out.broken_call(keep);
    }
}
