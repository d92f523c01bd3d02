//! The inside of a call that is written as elements: keys, values, and what ends them. A parser
//! tells [`CallReader`] what each of its markers means inside a call; the markers that mean
//! something only there are otherwise text.

mod called;
mod key;
mod kind;
mod value;
mod wrapper;

use self::wrapper::Wrapper;
use super::{ArgumentsWriter, CallMark, CallProgress, Doubt, Style};
use crate::{FinishReason, Output, Reading, Tools};

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
/// its value.
#[derive(Debug)]
pub struct CallReader {
    style: Style,
    /// Whether the value is the whole body of a call that is plain text: only the end of the call
    /// ends it.
    is_whole: bool,
    arguments: ArgumentsWriter,
    /// The parameter that wraps the arguments, or may.
    wrapper: Option<Box<Wrapper>>,
    state: State,
    /// The key or, after a marker that begins a call, the name, or the type of a value, as far as it
    /// has been read.
    key: String,
    /// Parameter whose value hasn't begun, because its type may stand before it, and how the value
    /// is to be read.
    due: Option<(String, Reading)>,
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
    /// Length of the text in doubt that stands before the header of the call that may follow.
    before_header: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between parameters, or after a marker that may end the value.
    Between,
    Key,
    /// In a key that stands inside a value.
    KeyInValue,
    /// After a key, before its value.
    Before,
    /// In the type that stands between a key and its value.
    Type,
    Value,
    /// In a value that may wrap the arguments, or behind one that did.
    Wrapper,
    /// In a value that began in its tag, behind what may be the tag's end.
    TagEnd,
    /// After a marker inside a value that may end the call.
    Ended,
    /// In the header of a call behind what may end the value or the call.
    Called,
    /// After a marker that may end a call that began inside the value, or else ends the call
    /// itself.
    InnerEnded,
}

impl CallReader {
    /// Reader of a call that was just opened, its header dropped.
    pub fn new(style: Style, arguments: ArgumentsWriter) -> Self {
        let (state, key, doubt) = (State::Between, String::new(), Doubt::default());
        let (is_whole, is_broken, breaks, values, calls, before_header) = (false, false, false, 0, 0, 0);
        Self {
            style,
            is_whole,
            arguments,
            wrapper: None,
            state,
            key,
            due: None,
            doubt,
            is_broken,
            breaks,
            values,
            calls,
            before_header,
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
    pub fn text<'a>(&mut self, text: &'a str, tools: &Tools, out: &mut Output) -> Option<&'a str> {
        let mut rest = text;
        while !rest.is_empty() {
            let read = match self.state {
                State::Called => match self.read_name(rest, tools, out) {
                    Some(read) => return Some(&rest[read..]),
                    None => rest.len(),
                },
                State::Key | State::KeyInValue => self.read_key(rest, out),
                State::Before => self.before(rest, out),
                State::Type => self.read_type(rest, out),
                State::Wrapper => self.read_wrapper(rest, out),
                State::Between | State::Ended | State::InnerEnded | State::TagEnd => self.after(rest, out),
                State::Value => {
                    self.arguments.text(rest, 0, out);
                    rest.len()
                }
            };
            rest = &rest[read..];
        }
        None
    }

    /// Tells the host to hold what comes, as far as it decides nothing.
    pub(super) fn look_ahead(&self, out: &mut Output) {
        match self.state {
            State::Key | State::KeyInValue | State::Called => self.style.hold_tag(out),
            State::Between | State::Ended | State::InnerEnded | State::TagEnd => out.hold_gap(),
            State::Before | State::Type | State::Value | State::Wrapper => {}
        }
    }

    /// Reads a marker, whose `literal` is the youngest held text.
    pub fn mark(&mut self, mark: CallMark, literal: &str, tools: &Tools, out: &mut Output) -> CallProgress {
        if self.state == State::Wrapper && self.wraps_nothing() {
            self.unwrap(literal.len(), out);
        }
        if self.due.is_some() && self.mark_type(mark, literal.len(), out) {
            return CallProgress::Inside;
        }
        match (self.state, mark) {
            (State::Wrapper, _) => self.mark_wrapper(mark, literal, out),
            (State::Ended | State::InnerEnded, CallMark::Stop) | (State::Between, CallMark::Outside) => {
                self.close(literal.len(), out)
            }
            (State::Ended, CallMark::Outside) if !self.doubt.is_long() => {
                self.doubt_more(State::Ended, literal)
            }
            (State::Between, CallMark::Stop) if self.is_over() => self.close(literal.len(), out),
            (State::Between | State::Ended, CallMark::Next) => {
                self.breaks |= self.state == State::Ended || !self.arguments.has_begun();
                self.close(literal.len(), out)
            }
            (State::Between | State::Before | State::Ended, CallMark::Call) => self.begin_name(literal),
            (State::Called, _) => self.end_name(mark, literal, tools, out),
            (State::InnerEnded, CallMark::Outside | CallMark::Call | CallMark::Next)
                if !self.doubt.is_long() =>
            {
                self.doubt_more(State::InnerEnded, literal)
            }
            (_, CallMark::Stop) => {
                out.drop(out.held() - literal.len());
                // The call is over and incomplete; a new message keeps a later `close` from
                // completing it.
                out.message("");
                CallProgress::Left
            }
            (State::Between, CallMark::Key) if self.values > 0 => {
                self.values -= 1;
                self.doubt_more(State::KeyInValue, literal)
            }
            (State::Between, CallMark::End) if self.values > 0 && self.calls > 0 => {
                self.doubt_more(State::InnerEnded, literal)
            }
            (State::Between, CallMark::Key) if self.breaks => self.doubt_more(State::KeyInValue, literal),
            (State::Between, CallMark::Key) => {
                self.arguments.end(literal.len(), out);
                self.doubt(State::Key, literal)
            }
            (State::Between, CallMark::End) if self.breaks => self.doubt_more(State::Ended, literal),
            (State::Between, CallMark::End) => self.close(0, out),
            (State::Key, CallMark::KeyEnd | CallMark::Value) => self.end_key(mark, literal, out),
            (State::Key, CallMark::Key) if !self.begins_value() => self.restart_key(literal, out),
            (State::TagEnd, CallMark::Key) => self.doubt_more(State::KeyInValue, literal),
            (State::TagEnd, CallMark::ValueEnd) => self.doubt_more(State::Between, literal),
            (State::TagEnd, CallMark::End) => self.doubt_more(State::Ended, literal),
            (State::KeyInValue, CallMark::KeyEnd) if self.key_counts() => self.end_key(mark, literal, out),
            (State::KeyInValue, CallMark::Value)
                if self.breaks && self.style == Style::Typed && self.key_counts() =>
            {
                self.end_key(mark, literal, out)
            }
            (State::Key, _) => {
                self.begin_unended(literal.len(), out);
                self.in_value(mark, literal, out)
            }
            (State::Before, CallMark::Value) => {
                out.drop_all();
                self.flow(out)
            }
            (State::Before | State::Type | State::Value, _) => self.in_value(mark, literal, out),
            (State::Between | State::Ended | State::InnerEnded | State::KeyInValue | State::TagEnd, _) => {
                self.resume(literal.len(), out);
                if self.arguments.has_begun() { self.in_value(mark, literal, out) } else { self.skip(0, out) }
            }
        }
    }

    /// Ends the turn: closes the call where the model stopped behind the call's end, or behind a
    /// parameter's. Other undecided text is dropped.
    pub fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        let is_over = match self.state {
            State::Wrapper => return self.finish_wrapper(reason == FinishReason::Stop, out),
            State::Called if reason == FinishReason::Stop => return self.leave_name(0, out),
            State::Ended | State::InnerEnded => true,
            State::Between => self.is_over(),
            _ => false,
        };
        if is_over && reason == FinishReason::Stop {
            self.close(0, out);
        }
        out.drop_all();
    }

    /// Whether, between parameters, all parameters that began have ended; there is one at least.
    fn is_over(&self) -> bool {
        self.values == 0 && self.arguments.has_begun() && !self.breaks
    }

    /// Puts `literal` in doubt until it is known what follows.
    fn doubt(&mut self, state: State, literal: &str) -> CallProgress {
        self.doubt.begin(literal);
        self.enter(state)
    }

    /// Adds `literal` to the text in doubt.
    fn doubt_more(&mut self, state: State, literal: &str) -> CallProgress {
        self.doubt.push(literal);
        self.enter(state)
    }

    fn enter(&mut self, state: State) -> CallProgress {
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
