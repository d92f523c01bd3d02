//! The header of a call behind what may end a value or a call: the next call, whose predecessor has
//! no end, or text of the value.
//!
//! Invariant: only a declared name makes it a call; otherwise all of it, the end before it
//! included, is part of the value, or of what no parameter takes.

use super::value::WORDS;
use super::{CallReader, State};
use crate::params::{CallMark, CallProgress, Tag};
use crate::{Output, Tools};

impl CallReader {
    /// The name in the header, as far as it has been read.
    pub fn next_name(&self) -> &str {
        self.style.name(&self.key)
    }

    /// Begins the header of a call. Before the first parameter of the open call, and between a key
    /// and its value, a declared tool's call breaks the open one.
    pub(super) fn begin_name(&mut self, literal: &str) -> CallProgress {
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
        let before = self.key.len();
        self.key.push_str(&text[..end.unwrap_or(text.len())]);
        self.doubt.push(text);
        if end.is_some() && self.names_a_tool(tools) && self.style.tag_name(&self.key, false).is_some() {
            self.close(self.doubt.text().len() - self.before_header, out);
            return end.map(|end| end + 1);
        }
        self.key.truncate(before);
        self.key.push_str(text);
        if !self.may_be_header(tools) {
            self.resume(0, out);
        }
        None
    }

    fn names_a_tool(&self, tools: &Tools) -> bool {
        tools.contains(tools.resolve(self.next_name()))
    }

    /// Whether the header may go on, or be one that breaks off: few words, or few behind a declared
    /// name.
    fn may_be_header(&self, tools: &Tools) -> bool {
        let (name, words) = self.words();
        let may_be_tool = if words.is_empty() {
            tools.names().any(|tool| tool.starts_with(name))
        } else {
            tools.contains(tools.resolve(name)) && words.len() <= WORDS
        };
        self.key.len() <= Tag::LONGEST && (may_be_tool || self.key.trim().len() <= WORDS)
    }

    /// The first word of the header, and the others.
    fn words(&self) -> (&str, &str) {
        let header = self.key.trim_start();
        let (name, words) = header.split_once(char::is_whitespace).unwrap_or((header, ""));
        (self.style.name(name), words.trim())
    }

    /// Reads a marker behind the name, which ends it where the format has elements.
    pub(super) fn end_name(
        &mut self,
        mark: CallMark,
        literal: &str,
        tools: &Tools,
        out: &mut Output,
    ) -> CallProgress {
        if mark == CallMark::Stop {
            self.leave_name(literal.len(), out);
            return CallProgress::Left;
        }
        if mark == CallMark::Call && !self.doubt.is_long() {
            return self.restart_name(literal, tools, out);
        }
        if mark == CallMark::KeyEnd && !self.breaks && self.arguments.expects(&self.key) {
            // A call's marker stood in the place of the key's.
            return self.end_key(mark, literal, out);
        }
        let is_header = self.style.is_elements() && matches!(mark, CallMark::Key | CallMark::End);
        if is_header && self.names_a_tool(tools) {
            return self.follow(literal, out);
        }
        self.resume(literal.len(), out);
        if self.state == State::Between {
            return self.mark(mark, literal, tools, out);
        }
        self.in_value(mark, literal, out)
    }

    /// Another call begins in the header. A declared tool's call begins here and is broken; another
    /// header breaks this call, if the next is a declared tool's.
    fn restart_name(&mut self, literal: &str, tools: &Tools, out: &mut Output) -> CallProgress {
        let name = self.words().0.to_owned();
        if tools.contains(tools.resolve(&name)) {
            self.key = name;
            return self.follow(literal, out);
        }
        self.breaks = true;
        self.before_header = self.doubt.text().len();
        self.doubt_more(State::Called, literal)
    }

    /// Ends this call before the header, behind which `literal` is held.
    fn follow(&mut self, literal: &str, out: &mut Output) -> CallProgress {
        self.close(self.doubt.text().len() - self.before_header + literal.len(), out);
        CallProgress::Followed
    }

    /// The turn ends in the header: the call before it is whole, and the one that it begins is
    /// broken. The `keep` youngest bytes stand behind the header.
    pub(super) fn leave_name(&mut self, keep: usize, out: &mut Output) {
        self.close(self.doubt.text().len() - self.before_header + keep, out);
        out.broken_call(keep);
    }
}
