//! Arguments of an open call: a marker ends them or, in formats without an end marker, their last
//! bracket. [`super::Sections`] feeds them.
//!
//! Invariant: a marker inside a string of the arguments is text, unless it ends the turn.

use super::mark::Mark;
use crate::json::{ArgumentsText, Object};
use crate::{Output, Payload};

/// Reader of one call's arguments.
#[derive(Debug)]
pub(super) enum ArgumentsReader {
    /// A marker ends the arguments.
    Marked(ArgumentsText),
    /// The arguments end at their last bracket.
    Alone(Object),
}

impl ArgumentsReader {
    /// Arguments of a call that was just opened with this payload; `has_end` says whether the
    /// format has a marker that ends a call.
    pub(super) fn new(payload: Payload, has_end: bool) -> Self {
        if has_end { Self::Marked(ArgumentsText::new(payload)) } else { Self::Alone(Object::new(payload)) }
    }

    /// Reads `text`. Closes the call at the end of its JSON, and returns the number of bytes read
    /// if it came.
    pub(super) fn text(&mut self, text: &str, out: &mut Output) -> Option<usize> {
        match self {
            Self::Marked(arguments) => arguments.text(text, 0, out),
            Self::Alone(object) => object.read(text.as_bytes(), out),
        }
    }

    fn in_string(&self) -> bool {
        match self {
            Self::Marked(arguments) => arguments.in_string(),
            Self::Alone(object) => object.in_string(),
        }
    }

    fn is_open(&self) -> bool {
        match self {
            Self::Marked(arguments) => arguments.is_open(),
            Self::Alone(object) => object.is_open(),
        }
    }

    /// Whether a marker of this meaning, which `ends_strings` or not, is text here.
    pub(super) fn is_text(&self, mark: Mark, ends_strings: bool) -> bool {
        match mark {
            Mark::TurnEnd => false,
            _ if ends_strings && self.is_open() => false,
            _ if self.in_string() => true,
            Mark::Section | Mark::SectionEnd | Mark::Call | Mark::CallEnd => false,
            Mark::Separator => !matches!(self, Self::Marked(arguments) if arguments.is_empty()),
            _ => true,
        }
    }

    /// Reports a marker that is text here, before its literal is read as text.
    pub(super) fn interrupt(&mut self) {
        if let Self::Marked(arguments) = self {
            arguments.interrupt();
        }
    }

    /// Reads a marker that isn't text. Returns whether the marker is dealt with.
    pub(super) fn mark(&mut self, mark: Mark, out: &mut Output) -> bool {
        match self {
            Self::Marked(arguments) if mark == Mark::Separator && !arguments.is_open() => {
                out.drop_all();
                return true;
            }
            Self::Marked(arguments) if mark == Mark::TurnEnd && !arguments.has_ended() => {
                arguments.release(out);
            }
            Self::Marked(arguments) if arguments.in_string() || !mark.ends_call() => arguments.give_up(out),
            Self::Marked(arguments) if arguments.is_open() && mark.begins_call() => arguments.give_up(out),
            Self::Marked(arguments) => arguments.close(out),
            Self::Alone(object) => {
                if !object.end(true, out) {
                    // The call is over and incomplete; a new message keeps a later `close` from
                    // completing it.
                    out.message("");
                }
            }
        }
        false
    }

    /// Completes the call.
    pub(super) fn close(&mut self, out: &mut Output) {
        match self {
            Self::Marked(arguments) => arguments.close(out),
            Self::Alone(object) => object.close(out),
        }
    }

    /// Ends the arguments with the turn, which the model ended `by_itself` or not.
    pub(super) fn finish(&mut self, by_itself: bool, out: &mut Output) {
        match self {
            Self::Marked(arguments) if arguments.has_ended() && by_itself => arguments.close(out),
            Self::Marked(arguments) => arguments.release(out),
            Self::Alone(object) => _ = object.end(by_itself, out),
        }
    }
}
