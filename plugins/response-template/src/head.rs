//! Held text that may be a delimiter, and what becomes of it.
//!
//! Invariant: text that is no delimiter is read again from behind its first marker, each part as it
//! came, so that a header that is none hides nothing behind it.

use parser_sdk::{LastOpening, Output};

use crate::ResponseTemplate;
use crate::in_call::InCall;
use crate::table::{Found, Meaning, Search, Wait};

/// Held text that begins with a marker.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) text: String,
    /// The markers in it: where they begin, their indices, and whether they end strings.
    marks: Vec<(usize, usize, bool)>,
    /// What is known of the delimiter with which it begins.
    search: Search,
    /// What may decide the search.
    wait: Wait,
}

impl Head {
    pub(crate) fn new(search: Search) -> Self {
        Self { text: String::new(), marks: Vec::new(), search, wait: Wait::Byte }
    }

    pub(crate) fn push(&mut self, marker: usize, literal: &str, ends_strings: bool) {
        self.marks.push((self.text.len(), marker, ends_strings));
        self.text.push_str(literal);
    }

    /// Removes the marker that was pushed last, before which the text has `bytes` bytes.
    pub(crate) fn pop(&mut self, bytes: usize) {
        self.text.truncate(bytes);
        self.marks.pop();
    }
}

impl ResponseTemplate {
    /// Finds out what the head is, if that is clear.
    pub(crate) fn decide(&mut self, mut head: Head, out: &mut Output) {
        let found = self.find(&mut head, false);
        self.decided(found, head, out);
    }

    /// What the head is; clear if it `is_all` the text.
    pub(crate) fn find(&self, head: &mut Head, is_all: bool) -> Found {
        self.table.find(self.place(), &head.text, is_all, &mut head.search)
    }

    /// Acts on the head, which was found to be `found`, if that is clear.
    pub(crate) fn decided(&mut self, found: Found, head: Head, out: &mut Output) {
        match found {
            Found::Undecided(wait) => self.head = Some(Head { wait, ..head }),
            found => self.settle(found, &head, out),
        }
    }

    /// Acts on the head, whatever it is.
    fn settle(&mut self, found: Found, head: &Head, out: &mut Output) {
        let Found::Delimiter(meaning, bytes, group) = found else { return self.give_up(head, out) };
        // The brace of an object belongs to the region.
        let bytes = bytes - usize::from(matches!(meaning, Meaning::OpenObject(_)));
        self.act(meaning, &group, &head.text[..bytes], head.text.len() - bytes, out);
        self.replay(head, bytes, out);
    }

    /// Tells the host to hold what comes, as far as it decides nothing.
    pub(crate) fn look_ahead(&self, out: &mut Output) {
        match &self.head {
            Some(head) => head.wait.hold(out),
            None if self.closed.is_some()
                || matches!(self.call, InCall::Parameters(..) | InCall::Ended(..)) =>
            {
                out.hold_gap();
            }
            None => {
                if let InCall::Json(calls) = &self.call {
                    calls.hold_head(out);
                }
            }
        }
    }

    /// Makes the head's first marker text, since the head is no delimiter, and reads on behind it.
    pub(crate) fn give_up(&mut self, head: &Head, out: &mut Output) {
        if self.closed.is_some() {
            out.hiding(head.text.len(), |out| self.reopen(out));
            return self.replay(head, 0, out);
        }
        let first = head.marks.first().map_or(0, |(_, marker, _)| self.table.markers.0[*marker].len());
        if head.marks.first().is_some_and(|(_, marker, _)| self.table.opens_call(*marker)) {
            self.opening = LastOpening::Prose;
        }
        out.hiding(head.text.len() - first, |out| self.body(&head.text[..first], out));
        self.replay(head, first, out);
    }

    /// Reads the head again from byte `from` on.
    fn replay(&mut self, head: &Head, from: usize, out: &mut Output) {
        let mut at = from;
        for &(begin, marker, ends_strings) in head.marks.iter().filter(|(begin, ..)| *begin >= from) {
            self.part(&head.text[at..begin], None, head.text.len() - begin, out);
            at = begin + self.table.markers.0[marker].len();
            self.part("", Some((marker, ends_strings)), head.text.len() - at, out);
        }
        self.part(&head.text[at..], None, 0, out);
    }

    /// Reads a part of a head, text or a marker, behind which `keep` bytes are held.
    fn part(&mut self, text: &str, marker: Option<(usize, bool)>, keep: usize, out: &mut Output) {
        out.hiding(keep, |out| match marker {
            Some((marker, ends_strings)) => self.meet(marker, ends_strings, out),
            None if text.is_empty() => {}
            None => self.chunk(text, out),
        });
    }

    /// Ends what is held at the turn's end. Returns whether the turn ends there as broken.
    pub(crate) fn finish_heads(&mut self, out: &mut Output) -> bool {
        while let Some(mut head) = self.head.take() {
            let found = self.find(&mut head, true);
            if found == Found::Text && self.table.begins_call(self.place(), &head.text) {
                self.leave_call(head.text.len(), out);
                out.broken_call(0);
                self.call = InCall::No;
                return true;
            }
            let is_outside = self.place().region.is_none() && self.table.implicit.is_none();
            if is_outside && matches!(self.find(&mut head, false), Found::Undecided(_)) {
                // The header of a region, cut off.
                out.drop(out.held());
                return true;
            }
            if let Found::Delimiter(Meaning::Key, ..) = found {
                self.end_call(false, false, 0, out);
                return true;
            }
            self.settle(found, &head, out);
        }
        false
    }
}
