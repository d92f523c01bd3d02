//! The text of a value, and that behind what may end it.
//!
//! Invariant: text goes on being the value's until it is known to be markup, or words behind it.

use super::{CallReader, State};
use crate::Output;
use crate::json::white;
use crate::params::{CallMark, CallProgress, Key, Style};

/// Most words behind a value's end, with white space before them, that may be no part of the value,
/// in bytes.
pub(super) const WORDS: usize = 48;

/// Longest text at the stream's end that may be half a marker, in bytes.
const HALF: usize = 32;

impl CallReader {
    /// Skips white space between a key's element and its value's.
    pub(super) fn before(&mut self, text: &str, out: &mut Output) -> usize {
        let is_begun = out.held() > text.len();
        let read = if is_begun { 0 } else { leading_white(text) };
        out.drop(read);
        let may_be_marker = is_begun || text[read..].starts_with('<');
        if self.due.is_some() && may_be_marker && out.held() <= HALF {
            return text.len();
        }
        if read < text.len() {
            // The marker that begins a value was left out.
            self.begin_due(out);
            self.enter_value();
        }
        read
    }

    /// Reads text after a marker that may end the value or the call. Anything but white space, and
    /// few words behind the end of a value, makes both part of the value.
    pub(super) fn after(&mut self, text: &str, out: &mut Output) -> usize {
        if !self.doubt.goes_on(text) {
            self.breaks = self.may_be_surplus();
            if !self.breaks {
                self.resume(0, out);
            }
        }
        text.len()
    }

    /// Whether the words in doubt may be behind the value, and not a part of it.
    fn may_be_surplus(&self) -> bool {
        let is_end = self.state == State::Between && self.arguments.has_begun() && !self.is_whole;
        let is_plain = is_end && self.values == 0 && self.calls == 0;
        is_plain && !self.doubt.is_long() && self.doubt.behind().trim_end().len() <= WORDS
    }

    /// Begins the value of the key, which is whole. The `keep` youngest held bytes are behind the
    /// key.
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
        if self.style == Style::TypedElements {
            self.due = Some((name.into_owned(), reading));
        } else {
            self.begin_parameter(&name, reading, out);
            drop(name);
        }
        self.key = tag;
        self.key.clear();
        (self.values, self.calls) = (0, 0);
        self.enter_value();
        if self.style.is_elements() {
            self.state = State::Before;
        } else if self.style == Style::Attribute {
            self.arguments.skip_line();
        } else if self.state == State::Value && keep == 0 {
            self.arguments.text("", 0, out);
        }
    }

    /// Goes on with the value of the key.
    fn enter_value(&mut self) {
        self.state = if self.wrapper.is_some() { State::Wrapper } else { State::Value };
    }

    /// Makes all text up to the end of the call its argument.
    fn begin_body(&mut self) {
        self.is_whole = true;
        self.arguments.begin_body();
    }

    /// Reads a marker inside a value.
    pub(super) fn in_value(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        self.state = State::Value;
        match mark {
            CallMark::Key if !self.is_whole => self.doubt(State::KeyInValue, literal),
            CallMark::ValueEnd if !self.is_whole => {
                let own = self.take_line(literal, out);
                self.doubt(State::Between, &literal[own..])
            }
            CallMark::End if self.calls > 0 => self.doubt(State::InnerEnded, literal),
            CallMark::End => self.doubt(State::Ended, literal),
            _ => {
                self.calls += usize::from(mark == CallMark::Call);
                self.values += usize::from(mark == CallMark::Value);
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

    /// Makes the text in doubt part of the value, but not the `keep` youngest held bytes. Its
    /// marker ends what began inside the value.
    pub(super) fn resume(&mut self, keep: usize, out: &mut Output) {
        if self.arguments.is_untouched() {
            self.begin_body();
        }
        self.breaks = false;
        if !self.arguments.has_begun() {
            self.skip(keep, out);
            return;
        }
        match std::mem::replace(&mut self.state, State::Value) {
            State::Between => self.values = self.values.saturating_sub(1),
            State::Called => {
                self.values = self.values.saturating_sub(1);
                self.calls += 1;
            }
            State::InnerEnded => {
                self.calls = self.calls.saturating_sub(1);
                self.values = if self.calls == 0 { 0 } else { self.values.saturating_sub(1) };
            }
            _ => {}
        }
        self.arguments.text(self.doubt.text(), keep, out);
        self.doubt.clear();
    }

    /// Drops the held bytes but the `keep` youngest: no parameter takes them.
    pub(super) fn skip(&mut self, keep: usize, out: &mut Output) -> CallProgress {
        (self.state, self.is_broken) = (State::Between, true);
        self.doubt.clear();
        out.drop(out.held() - keep);
        CallProgress::Inside
    }

    /// Begins a value's text, with nothing held.
    pub(super) fn flow(&mut self, out: &mut Output) -> CallProgress {
        self.enter_value();
        if self.state == State::Value {
            self.arguments.text("", 0, out);
        }
        CallProgress::Inside
    }
}

pub(super) fn leading_white(text: &str) -> usize {
    text.len() - text.trim_start_matches(white).len()
}
