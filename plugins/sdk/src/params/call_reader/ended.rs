//! Text and markers behind what may end a value or the call.
//!
//! Invariant: all of it is in doubt, and part of the value, until it is known to be markup, or words
//! behind the value.

use super::{CallReader, State};
use crate::Output;
use crate::params::{CallMark, CallProgress};

/// Most words behind a value's end, with white space before them, that may be no part of the value,
/// in bytes.
pub(super) const WORDS: usize = 48;

impl CallReader {
    /// Reads text after a marker that may end the value or the call. Anything but white space, and
    /// few words behind the end of a value, makes both part of the value.
    pub(super) fn read_behind(&mut self, text: &str, out: &mut Output) -> usize {
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
        let is_end = self.state == State::Between && self.arguments.has_begun() && !self.arguments.is_body();
        let is_plain = is_end && self.values == 0 && self.calls == 0;
        is_plain && !self.doubt.is_long() && self.doubt.behind().trim_end().len() <= WORDS
    }

    /// Reads a marker between parameters, or behind what may end the value.
    pub(super) fn mark_between(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        match mark {
            CallMark::Outside => self.close(literal.len(), out),
            CallMark::Next => {
                self.breaks |= !self.arguments.has_begun();
                self.close(literal.len(), out)
            }
            CallMark::Call => self.begin_name(literal),
            CallMark::Key if self.values > 0 || self.breaks => {
                self.values = self.values.saturating_sub(1);
                self.doubt(State::Key, literal)
            }
            CallMark::Key => {
                self.arguments.end(literal.len(), out);
                self.begin_key(literal)
            }
            CallMark::End if (self.values > 0 && self.calls > 0) || self.breaks => {
                self.doubt(State::Ended, literal)
            }
            CallMark::End => self.close(0, out),
            _ => self.mark_resumed(mark, literal, out),
        }
    }

    /// Reads a marker behind what may end the call or, if one began inside the value, that call.
    pub(super) fn mark_ended(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        let is_inner = self.calls > 0;
        match mark {
            // A value may hold the end of a block behind that of a call.
            CallMark::Outside if !self.doubt.is_long() => self.doubt(State::Ended, literal),
            CallMark::Call | CallMark::Next if is_inner && !self.doubt.is_long() => {
                self.doubt(State::Ended, literal)
            }
            // The value ended nowhere.
            CallMark::Next if !is_inner => {
                self.breaks = true;
                self.close(literal.len(), out)
            }
            CallMark::Call if !is_inner => self.begin_name(literal),
            _ => self.mark_resumed(mark, literal, out),
        }
    }

    /// Makes the text in doubt part of the value, and reads a marker behind it.
    pub(super) fn mark_resumed(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        self.resume(literal.len(), out);
        if self.arguments.has_begun() { self.mark_value(mark, literal, out) } else { self.skip(0, out) }
    }

    /// Makes the text in doubt part of the value, but not the `keep` youngest held bytes. Its
    /// marker ends what began inside the value.
    pub(super) fn resume(&mut self, keep: usize, out: &mut Output) {
        if self.arguments.is_untouched() {
            self.arguments.begin_body();
        }
        self.breaks = false;
        if !self.arguments.has_begun() {
            self.skip(keep, out);
            return;
        }
        match std::mem::replace(&mut self.state, State::Value) {
            State::Between => self.values = self.values.saturating_sub(1),
            State::Called(_) => {
                self.values = self.values.saturating_sub(1);
                self.calls += 1;
            }
            State::Ended if self.calls > 0 => {
                self.calls -= 1;
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
}
