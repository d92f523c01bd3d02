//! The header of a call behind what may end a value or a call: the next call, whose predecessor has
//! no end, or text of the value.
//!
//! Invariant: only a declared name makes it a call; otherwise all of it, the end before it
//! included, is part of the value, or of what no parameter takes.

use super::ended::WORDS;
use super::{CallReader, State};
use crate::Output;
use crate::params::{CallMark, CallProgress, Tag};

impl CallReader {
    /// The name in the header, as far as it has been read.
    pub fn next_name(&self) -> &str {
        self.style.name(&self.key)
    }

    /// Begins the header of a call. A declared tool's call breaks the open one before its first
    /// parameter.
    pub(super) fn begin_name(&mut self, literal: &str) -> CallProgress {
        self.breaks |= !self.arguments.has_begun();
        self.doubt(State::Called(self.doubt.text().len()), literal)
    }

    /// Reads `text` of the name, in a header behind `before` bytes in doubt. Returns the number of
    /// bytes of the header in it once the header is whole and this call closed.
    pub(super) fn read_name(&mut self, before: usize, text: &str, out: &mut Output) -> Option<usize> {
        let end = if self.style.ends_by_marker() { None } else { text.find('>') };
        let known = self.key.len();
        self.key.push_str(&text[..end.unwrap_or(text.len())]);
        self.doubt.push(text);
        if end.is_some() && self.is_tool(self.next_name()) && self.style.tag_name(&self.key, false).is_some()
        {
            self.close(self.doubt.text().len() - before, out);
            return end.map(|end| end + 1);
        }
        self.key.truncate(known);
        self.key.push_str(text);
        if !self.may_be_header() {
            self.resume(0, out);
        }
        None
    }

    /// Whether a declared tool is called by this name.
    fn is_tool(&self, name: &str) -> bool {
        let tools = self.arguments.tools();
        tools.contains(tools.resolve(name))
    }

    /// Whether the header may go on, or be one that breaks off: few words, or few behind a declared
    /// name.
    fn may_be_header(&self) -> bool {
        let (name, words) = self.words();
        let may_be_tool = if words.is_empty() {
            self.arguments.tools().names().any(|tool| tool.starts_with(name))
        } else {
            self.is_tool(name) && words.len() <= WORDS
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
    pub(super) fn mark_name(
        &mut self,
        before: usize,
        mark: CallMark,
        literal: &str,
        out: &mut Output,
    ) -> CallProgress {
        match mark {
            CallMark::Stop => {
                self.leave_name(before, literal.len(), out);
                CallProgress::Left
            }
            // Another call begins in the header. A declared tool's call begins here and is broken;
            // another header breaks this call, if the next is a declared tool's.
            CallMark::Call if !self.doubt.is_long() => {
                let name = self.words().0;
                if !self.is_tool(name) {
                    self.breaks = true;
                    return self.begin_name(literal);
                }
                self.key = name.to_owned();
                self.follow(before, literal, out)
            }
            // A call's marker stood in the place of the key's.
            CallMark::KeyEnd if !self.breaks && self.arguments.expects(&self.key) => {
                self.end_key(mark, literal, out)
            }
            CallMark::Key | CallMark::End if self.style.is_elements() && self.is_tool(self.next_name()) => {
                self.follow(before, literal, out)
            }
            _ => {
                self.resume(literal.len(), out);
                self.mark(mark, literal, out)
            }
        }
    }

    /// Ends this call before the header, behind which `literal` is held.
    fn follow(&mut self, before: usize, literal: &str, out: &mut Output) -> CallProgress {
        self.close(self.doubt.text().len() - before + literal.len(), out);
        CallProgress::Followed
    }

    /// The turn ends in the header: the call before it is whole, and the one that it begins is
    /// broken. The `keep` youngest bytes stand behind the header.
    pub(super) fn leave_name(&mut self, before: usize, keep: usize, out: &mut Output) {
        self.close(self.doubt.text().len() - before + keep, out);
        out.broken_call(keep);
    }
}
