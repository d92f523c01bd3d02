//! What stands where a call may begin without its marker, behind a call's JSON and at a message's
//! beginning: a call whose marker the model left out, or prose.
//!
//! A separator there begins a call in formats whose names follow it.
//!
//! Invariant: a call without a marker names a declared tool, and its arguments begin or a separator comes right
//! behind the name; held is one word.

use super::header::{HEADER, Head, Header};
use super::{Format, Mark, Sections, State};
use crate::json::surplus;
use crate::{Output, Parser};

impl<F: Format> Sections<F> {
    /// Whether the format has a marker that ends a call. In formats without one, text behind a call
    /// needs no marker before it.
    pub(super) fn has_end() -> bool {
        F::MARKS.iter().any(|(_, mark)| *mark == Mark::CallEnd)
    }

    /// Reads `text` behind a call's JSON that has just ended.
    pub(super) fn call_ended(&mut self, text: &str, out: &mut Output) {
        self.state = if Self::has_end() { State::Called(Header::default()) } else { State::Prose };
        if !text.is_empty() {
            self.text(text, out);
        }
    }

    /// Reads text behind a call's JSON.
    pub(super) fn after_call(&mut self, chunk: &str, out: &mut Output) {
        let State::Called(header) = &mut self.state else { return };
        let surplus = if header.text.is_empty() { surplus(chunk) } else { 0 };
        out.drop(surplus);
        header.push(&chunk[surplus..]);
        let call = match header.head(F::KIND) {
            Head::Unfinished if self.tools.may_begin(header.word()) => return,
            Head::Says(says, at) => {
                let name = F::name(says, &self.tools);
                self.tools.contains(&name).then(|| (name, header.text[at..].to_owned()))
            }
            _ => None,
        };
        if let Some((name, arguments)) = call {
            return self.open(name, &arguments, out);
        }
        self.state = State::Behind;
        self.prose.flow(out);
    }

    /// Reads text at a message's beginning, or in a section.
    pub(super) fn at_start(&mut self, chunk: &str, out: &mut Output) {
        let State::Start(header) = &mut self.state else { return };
        header.text.push_str(chunk);
        let text = header.text.trim_start();
        if self.tools.is_empty() || header.text.len() > HEADER || !F::may_begin(text, &self.tools) {
            self.state = State::Prose;
            self.prose.flow(out);
        }
    }

    /// Reads a marker behind a call's JSON, or where [`Self::at_start`] holds text. Returns whether the
    /// marker is dealt with.
    pub(super) fn mark_after_call(&mut self, mark: Mark, literal: &str, out: &mut Output) -> bool {
        let is_behind = !matches!(self.state, State::Start(_));
        let header = match &mut self.state {
            State::Start(header) | State::Called(header) => std::mem::take(header),
            _ => Header::default(),
        };
        let says = header.text.trim();
        let names_tool = || !says.is_empty() && self.tools.contains(&F::name(says, &self.tools));
        if mark == Mark::Separator && says.is_empty() && F::KIND.is_some() && is_behind {
            out.drop_all();
            self.state = State::Header(Header { separator: Some(0), ..Header::default() });
            return true;
        }
        if mark == Mark::Separator && (is_behind && F::KIND == Some(says) || names_tool()) {
            self.state = State::Header(header);
            return self.mark_in_header(mark, literal, out);
        }
        self.prose.release(literal.len(), out);
        self.state = State::Prose;
        false
    }
}
