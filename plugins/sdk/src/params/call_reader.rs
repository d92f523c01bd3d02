//! The inside of a call that is written as elements: keys, values, and what ends them. A parser
//! tells [`CallReader`] what each of its markers means inside a call; the markers that mean
//! something only there are otherwise text.

mod called;
mod key;

use super::{ArgumentsWriter, Doubt, Key, Mark, Progress, Style};
use crate::json::white;
use crate::{FinishReason, Output, Tools};

/// An open call.
///
/// A value is raw text, so it may hold anything that looks like markup. What stands there is markup
/// if the format goes on behind it:
/// - the end of a value counts if, after white space, a key, the end of the call or something
///   outside calls follows;
/// - the end of a call inside a value (whose own end the model left out) counts if something
///   outside calls follows, or the turn ends;
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
#[derive(Debug)]
pub struct CallReader {
    style: Style,
    /// Whether the end of the call inside a value counts whatever follows.
    ends_anywhere: bool,
    /// Whether the value is the whole body of a call that is plain text: only the end of the call
    /// ends it.
    is_whole: bool,
    arguments: ArgumentsWriter,
    state: State,
    /// The key or, after a marker that begins a call, the name, as far as it has been read.
    key: String,
    /// Held text that isn't decided: a marker inside a value, and what came since.
    doubt: Doubt,
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
    Value,
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
        let (ends_anywhere, is_whole, values, calls, before_header) = (false, false, 0, 0, 0);
        Self { style, ends_anywhere, is_whole, arguments, state, key, doubt, values, calls, before_header }
    }

    /// Makes the end of the call count inside a value whatever follows, for a call without markup
    /// around it.
    pub fn end_anywhere(&mut self) {
        self.ends_anywhere = true;
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
                State::Between | State::Ended | State::InnerEnded => self.after(rest, out),
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
            State::Between | State::Ended | State::InnerEnded => out.hold_gap(),
            State::Before | State::Value => {}
        }
    }

    /// Reads a marker, whose `literal` is the youngest held text.
    pub fn mark(&mut self, mark: Mark, literal: &str, tools: &Tools, out: &mut Output) -> Progress {
        match (self.state, mark) {
            (State::Ended | State::InnerEnded, Mark::Stop)
            | (State::Between | State::Ended, Mark::Outside) => self.close(literal.len(), out),
            (State::Between, Mark::Stop) if self.is_over() => self.close(literal.len(), out),
            (State::Between | State::Ended, Mark::Call) => {
                self.before_header = self.doubt.text().len();
                self.doubt_more(State::Called, literal)
            }
            (State::Called, _) => self.end_name(mark, literal, tools, out),
            (State::InnerEnded, Mark::Outside | Mark::Call) if !self.doubt.is_long() => {
                self.doubt_more(State::InnerEnded, literal)
            }
            (_, Mark::Stop) => {
                out.drop(out.held() - literal.len());
                // The call is over and incomplete; a new message keeps a later `close` from
                // completing it.
                out.message("");
                Progress::Left
            }
            (State::Between, Mark::Key) if self.values > 0 => {
                self.values -= 1;
                self.doubt_more(State::KeyInValue, literal)
            }
            (State::Between, Mark::End) if self.values > 0 && self.calls > 0 => {
                self.doubt_more(State::InnerEnded, literal)
            }
            (State::Between, Mark::Key) => {
                self.arguments.end(literal.len(), out);
                self.doubt(State::Key, literal)
            }
            (State::Between, Mark::End) => self.close(0, out),
            (State::Key, Mark::KeyEnd | Mark::Value) => self.end_key(mark, literal, out),
            (State::KeyInValue, Mark::KeyEnd) if self.key_counts() => self.end_key(mark, literal, out),
            (State::Key, _) => {
                self.begin_unended(literal.len(), out);
                self.in_value(mark, literal, out)
            }
            (State::Before, Mark::Value) => {
                out.drop_all();
                self.flow(out)
            }
            (State::Before | State::Value, _) => self.in_value(mark, literal, out),
            (State::Between | State::Ended | State::InnerEnded | State::KeyInValue, _) => {
                self.resume(literal.len(), out);
                self.in_value(mark, literal, out)
            }
        }
    }

    /// Ends the turn: closes the call where the model stopped behind the call's end, or behind a
    /// parameter's. Other undecided text is dropped.
    pub fn finish(&mut self, reason: FinishReason, out: &mut Output) {
        let is_over = match self.state {
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
        self.values == 0 && self.arguments.has_begun()
    }

    /// Skips white space between a key's element and its value's.
    fn before(&mut self, text: &str, out: &mut Output) -> usize {
        let read = leading_white(text);
        out.drop(read);
        if read < text.len() {
            // The marker that begins a value was left out.
            self.state = State::Value;
        }
        read
    }

    /// Reads text after a marker that may end the value or the call. Anything but white space makes
    /// both part of the value.
    fn after(&mut self, text: &str, out: &mut Output) -> usize {
        if !self.doubt.goes_on(text) {
            if self.arguments.is_untouched() {
                self.begin_body();
            }
            self.resume(0, out);
        }
        text.len()
    }

    /// Puts `literal` in doubt until it is known what follows.
    fn doubt(&mut self, state: State, literal: &str) -> Progress {
        self.doubt.clear();
        self.doubt_more(state, literal)
    }

    /// Adds `literal` to the text in doubt.
    fn doubt_more(&mut self, state: State, literal: &str) -> Progress {
        self.state = state;
        self.key.clear();
        self.doubt.push(literal);
        Progress::Inside
    }

    /// Begins the value of the key, which is whole. The `keep` youngest held bytes are behind the
    /// key.
    fn begin_value(&mut self, keep: usize, out: &mut Output) {
        let tag = std::mem::take(&mut self.key);
        let Key { name, reading } = self.style.key(&tag);
        if self.arguments.is_misplaced(&name) {
            let white = leading_white(self.doubt.text());
            out.drop(white);
            self.doubt.skip(white);
            self.begin_body();
            return self.resume(keep, out);
        }
        self.arguments.end(keep, out);
        self.arguments.begin_as(&name, reading, out);
        (self.values, self.calls) = (0, 0);
        self.state = if self.style == Style::Elements { State::Before } else { State::Value };
        if self.style == Style::Attribute {
            self.arguments.skip_line();
        }
    }

    /// Makes all text up to the end of the call its argument.
    fn begin_body(&mut self) {
        self.is_whole = true;
        self.arguments.begin_body();
    }

    /// Reads a marker inside a value.
    fn in_value(&mut self, mark: Mark, literal: &str, out: &mut Output) -> Progress {
        self.state = State::Value;
        match mark {
            Mark::Key if !self.is_whole => self.doubt(State::KeyInValue, literal),
            Mark::ValueEnd if !self.is_whole => self.doubt(State::Between, literal),
            Mark::End if self.ends_anywhere => self.close(0, out),
            Mark::End if self.calls > 0 => self.doubt(State::InnerEnded, literal),
            Mark::End => self.doubt(State::Ended, literal),
            _ => {
                self.calls += usize::from(mark == Mark::Call);
                self.values += usize::from(mark == Mark::Value);
                self.arguments.text(literal, 0, out);
                Progress::Inside
            }
        }
    }

    /// Makes the text in doubt part of the value, but not the `keep` youngest held bytes. Its
    /// marker ends what began inside the value.
    fn resume(&mut self, keep: usize, out: &mut Output) {
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

    /// Begins a value's text, with nothing held.
    fn flow(&mut self, out: &mut Output) -> Progress {
        self.state = State::Value;
        self.arguments.text("", 0, out);
        Progress::Inside
    }

    /// Completes the call, behind which the `keep` youngest bytes are held.
    fn close(&mut self, keep: usize, out: &mut Output) -> Progress {
        self.arguments.end(keep, out);
        self.arguments.close(out);
        if keep == 0 { Progress::Closed } else { Progress::Left }
    }
}

fn leading_white(text: &str) -> usize {
    text.len() - text.trim_start_matches(white).len()
}
