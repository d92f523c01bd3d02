//! A parameter's value: its beginning, and the markers in it.

use super::{CallReader, State};
use crate::Output;
use crate::json::white;
use crate::params::{CallMark, CallProgress, Key, Style};

impl CallReader {
    /// Begins the value of the key, which is whole; where keys are elements, it begins later. The
    /// `keep` youngest held bytes are behind the key.
    pub(super) fn begin_value(&mut self, keep: usize, out: &mut Output) {
        let tag = std::mem::take(&mut self.key);
        let Key { name, reading, is_tag } = self.style.key(&tag);
        if self.arguments.is_misplaced(&name) {
            let white = leading_white(self.doubt.text());
            out.drop(white);
            self.doubt.skip(white);
            return self.resume(keep, out);
        }
        let is_given = self.arguments.is_given(&name);
        self.is_broken |= std::mem::take(&mut self.breaks) || !is_tag || is_given;
        self.arguments.end(keep, out);
        self.doubt.clear();
        (self.values, self.calls) = (0, 0);
        if self.style.is_elements() {
            drop(name);
            (self.state, self.key) = (State::Before, tag);
            return;
        }
        self.begin_parameter(&name, reading, out);
        drop(name);
        self.key = tag;
        if self.style == Style::Attribute {
            self.arguments.skip_line();
        } else if keep == 0 {
            self.flow(out);
        }
    }

    /// Begins a value's text, with nothing held.
    pub(super) fn flow(&mut self, out: &mut Output) -> CallProgress {
        if self.wrapper.is_none() {
            self.arguments.text("", 0, out);
        }
        CallProgress::Inside
    }

    /// Reads a marker inside a value.
    pub(super) fn mark_value(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        let is_body = self.arguments.is_body();
        match mark {
            CallMark::Key if !is_body => self.doubt(State::Key, literal),
            CallMark::ValueEnd if !is_body => {
                let own = self.take_line(literal, out);
                self.doubt(State::Between, &literal[own..])
            }
            CallMark::End => self.doubt(State::Ended, literal),
            _ => {
                self.calls += usize::from(mark == CallMark::Call);
                self.values += usize::from(mark == CallMark::Value);
                self.doubt.clear();
                self.arguments.text(literal, 0, out);
                CallProgress::Inside
            }
        }
    }

    /// Routes the line ending in `literal` to the value that it is part of: one without a line
    /// ending in front. Returns the line ending's length.
    fn take_line(&mut self, literal: &str, out: &mut Output) -> usize {
        let line = if self.arguments.is_behind_line() { 0 } else { leading_white(literal) };
        if line > 0 {
            self.arguments.text(&literal[..line], literal.len() - line, out);
        }
        line
    }
}

pub(super) fn leading_white(text: &str) -> usize {
    text.len() - text.trim_start_matches(white).len()
}
