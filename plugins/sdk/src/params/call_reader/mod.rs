//! The inside of a call that is written as elements: keys, values, and what ends them. A parser
//! tells [`CallReader`] what each of its markers means inside a call; the markers that mean
//! something only there are otherwise text.

mod before;
mod called;
mod ended;
mod key;
mod value;
mod wrapper;

use self::wrapper::Wrapper;
use super::{ArgumentsWriter, CallMark, CallProgress, Doubt, Style};
use crate::{FinishReason, Output};

/// An open call.
///
/// A value is raw text, so it may hold anything that looks like markup. What stands there is markup
/// if the format goes on behind it:
/// - the end of a value counts if, after white space, a key, the end of the call or something
///   outside calls follows;
/// - the end of a call inside a value (whose own end the model left out) counts if, behind markup
///   around calls or not, the turn ends, or a call begins; one whose marker is no text makes the
///   call incomplete, whatever its name is;
/// - a call behind what ends a value or a call counts if its name is declared; the call before it
///   ends there;
/// - a key inside a value counts if it is whole, [expected](ArgumentsWriter::expects), and not that
///   of a call that began inside the value;
/// - where values or calls began inside the value, as part of its text, an end belongs to them
///   first: the end of a value, unless an expected key or the end of a call that didn't begin there
///   follows; the end of a call, unless the turn ends behind it.
///
/// Until that is decided the few bytes are held; if they aren't markup, they are part of the value.
/// So a value may contain the format's markup, only what might end it is held, and the cost per
/// byte is constant. Ambiguous text is taken for markup if it is the end of a value and a key
/// behind it, or the end of the call, that nothing in the value began; or a key inside a value that
/// the schema lists, or any key if the schema lists none. It is taken for text if it is the end of
/// a call, and another call behind it, after a value that began a call and a parameter and ended
/// neither.
///
/// Words that are no parameter's break the call: it ends as incomplete. They are
/// - up to 48 bytes of words behind the end of a value that began nothing, if an expected key, the
///   end of the call and what shows that it counts, something outside calls or a declared tool's
///   call follows; other words there, and those before another end of a value, are the value's;
/// - all that stands before the first parameter and is no markup there, unless the arguments are
///   plain text. The next call is found behind it;
/// - words in a parameter's tag that are no attributes, a key that another follows in place of its
///   end, and a parameter given twice;
/// - the header of a call, broken off, behind the end of a value, if a declared tool's call follows.
///
/// A call is incomplete, too, where another begins before its first parameter or between a key and
/// its value; where keys are elements, in a key as well.
#[derive(Debug)]
pub struct CallReader {
    style: Style,
    arguments: ArgumentsWriter,
    state: State,
    /// The parameter that wraps the arguments, or may: while there is one, it reads everything.
    wrapper: Option<Box<Wrapper>>,
    /// The key or, after a marker that begins a call, the name, as far as it has been read.
    key: String,
    /// The type of the value that follows, if there is one.
    kind: Option<String>,
    /// Held text that isn't decided: a marker inside a value, and what came since.
    doubt: Doubt,
    /// Whether the call is incomplete, whatever follows.
    is_broken: bool,
    /// Whether the call is incomplete if it ends in the text in doubt.
    breaks: bool,
    /// Numbers of values and of calls that began inside the value, as part of its text, and haven't
    /// ended there.
    values: usize,
    calls: usize,
}

/// What the next text is part of. A value is open, except before the first parameter, in
/// [`Self::Before`], [`Self::Type`], and a [`Self::Key`] that isn't in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between parameters, or after a marker that may end the value.
    Between,
    /// In the tag of a key.
    Key,
    /// After a key that is an element, before its value.
    Before,
    /// In the type that stands between a key and its value.
    Type,
    /// In a value. If text is in doubt there, it is what may end the tag in which the value began.
    Value,
    /// After a marker that may end the call, or a call that began inside the value.
    Ended,
    /// In the header of a call, behind this many bytes in doubt that may end the value or the call.
    Called(usize),
}

impl CallReader {
    /// Reader of a call that was just opened, its header dropped.
    pub fn new(style: Style, arguments: ArgumentsWriter) -> Self {
        Self {
            style,
            arguments,
            state: State::Between,
            wrapper: None,
            key: String::new(),
            kind: None,
            doubt: Doubt::default(),
            is_broken: false,
            breaks: false,
            values: 0,
            calls: 0,
        }
    }

    /// Continues in the first key, whose text so far is `key` and was dropped with the header.
    pub fn begin_in_key(&mut self, key: &str) {
        self.state = State::Key;
        key.clone_into(&mut self.key);
    }

    /// Reads text. Before the first parameter it is white space, or the call's body where the
    /// arguments are plain text. Returns the text behind the header of the next call,
    /// [`Self::next_name`], where this call ended before that.
    pub fn text<'a>(&mut self, text: &'a str, out: &mut Output) -> Option<&'a str> {
        let mut rest = text;
        while !rest.is_empty() {
            let read = match self.state {
                _ if self.wrapper.is_some() => self.read_wrapper(rest, out),
                State::Called(before) => match self.read_name(before, rest, out) {
                    Some(read) => return Some(&rest[read..]),
                    None => rest.len(),
                },
                State::Key => self.read_key(rest, out),
                State::Before => self.read_before(rest, out),
                State::Type => self.read_type(rest, out),
                State::Value if self.doubt.is_empty() => {
                    self.arguments.text(rest, 0, out);
                    rest.len()
                }
                State::Value | State::Between | State::Ended => self.read_behind(rest, out),
            };
            rest = &rest[read..];
        }
        None
    }

    /// Tells the host to hold what comes, as far as it decides nothing.
    pub(super) fn look_ahead(&self, out: &mut Output) {
        match self.state {
            _ if self.wrapper.is_some() => {}
            State::Key | State::Called(_) => self.style.hold_tag(out),
            State::Between | State::Ended => out.hold_gap(),
            State::Value if !self.doubt.is_empty() => out.hold_gap(),
            State::Before | State::Type | State::Value => {}
        }
    }

    /// Reads a marker, whose `literal` is the youngest held text.
    pub fn mark(&mut self, mark: CallMark, literal: &str, out: &mut Output) -> CallProgress {
        match self.state {
            _ if self.wrapper.is_some() => self.mark_wrapper(mark, literal, out),
            State::Called(before) => self.mark_name(before, mark, literal, out),
            _ if mark == CallMark::Stop => self.stop(literal.len(), out),
            State::Key => self.mark_key(mark, literal, out),
            State::Before | State::Type => self.mark_before(mark, literal, out),
            State::Value => self.mark_value(mark, literal, out),
            State::Between => self.mark_between(mark, literal, out),
            State::Ended => self.mark_ended(mark, literal, out),
        }
    }

    /// Ends the turn: closes the call where the model stopped behind the call's end, or behind a
    /// parameter's. Other undecided text is dropped.
    pub fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        if reason == FinishReason::Stop {
            match self.state {
                _ if self.wrapper.is_some() => self.finish_wrapper(out),
                State::Called(before) => return self.leave_name(before, 0, out),
                _ if self.is_over() => _ = self.close(0, out),
                _ => {}
            }
        }
        out.drop_all();
    }

    /// Ends the turn at its marker, of `keep` bytes: the call is over, and complete or not.
    fn stop(&mut self, keep: usize, out: &mut Output) -> CallProgress {
        if self.is_over() {
            return self.close(keep, out);
        }
        out.drop(out.held() - keep);
        // A new message keeps a later `close` from completing the call.
        out.message("");
        CallProgress::Left
    }

    /// Whether the call may end with the turn here: behind what may be its end, or behind the end of
    /// a parameter.
    fn is_over(&self) -> bool {
        match self.state {
            State::Ended => true,
            State::Between => self.values == 0 && self.arguments.has_begun() && !self.breaks,
            _ => false,
        }
    }

    /// Puts `literal` in doubt until it is known what follows.
    fn doubt(&mut self, state: State, literal: &str) -> CallProgress {
        self.doubt.mark(literal);
        self.state = state;
        self.key.clear();
        CallProgress::Inside
    }

    /// Ends the call, behind which the `keep` youngest bytes are held: it is complete unless it is
    /// broken.
    fn close(&mut self, keep: usize, out: &mut Output) -> CallProgress {
        self.arguments.end(keep, out);
        if self.is_broken || self.breaks {
            // A new message keeps a later `close` from completing the call.
            out.message("");
        } else {
            self.arguments.close(out);
        }
        if keep == 0 { CallProgress::Closed } else { CallProgress::Left }
    }
}
