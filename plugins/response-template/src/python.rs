//! Calls written in Python, as the content `python-call-list` has them:
//! `[get_weather(city="Oslo"), get_time()]`.
//!
//! Invariant: a region that turns out to be no call is left to the parser as text, with every byte
//! since the last call held.

use parser_sdk::literals::{Literals, Opening};
use parser_sdk::{Output, Route, Tools};

use crate::table::Within;

/// What may stand before a call, and most bytes of it.
const BEFORE: &[char] = &[' ', '\n', '\r', '\t', '[', ']', ','];
const GAP: usize = 64;

/// Reader of one region.
#[derive(Debug)]
pub(crate) struct PythonCalls {
    state: State,
    /// Where text goes that turns out to be no call.
    prose: Route,
    /// Whether a call has ended.
    has_called: bool,
}

#[derive(Debug)]
enum State {
    /// Before a call: the text that may begin it, which is held.
    Head(String),
    Arguments(Literals),
    /// After a call, where another one may follow.
    Between,
    /// After a call that broke off: the rest of the region is dropped.
    Done,
    Text,
}

impl PythonCalls {
    /// Calls behind the opening of a region that stands in text that goes to `prose`.
    pub(crate) fn new(prose: Route) -> Self {
        Self { state: State::Head(String::new()), prose, has_called: false }
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self.state, State::Text) && !self.has_called
    }

    /// Whether a call is open.
    pub(crate) fn in_call(&self) -> bool {
        matches!(self.state, State::Arguments(_))
    }

    /// Position in the region, by which delimiters count.
    pub(crate) fn within(&self) -> Within {
        match &self.state {
            State::Arguments(arguments) if arguments.in_string() => Within::String,
            State::Arguments(_) => Within::Json { is_open: true },
            _ => Within::Json { is_open: false },
        }
    }

    /// Reads `text`, behind which nothing is held. Returns whether it belongs to calls; if not, all
    /// held bytes and the rest of the region are text.
    pub(crate) fn read(&mut self, mut text: &str, tools: &Tools, out: &mut Output) -> bool {
        while !text.is_empty() {
            let Some(read) = self.step(text, tools, out) else {
                self.state = State::Text;
                return false;
            };
            text = &text[read..];
        }
        true
    }

    /// Reads the first bytes of `text`. Returns how many, or `None` if they are no call.
    fn step(&mut self, text: &str, tools: &Tools, out: &mut Output) -> Option<usize> {
        match &mut self.state {
            State::Head(head) => {
                head.push_str(text);
                let code = head.trim_start_matches(BEFORE);
                let before = head.len() - code.len();
                match Opening::of_keywords(code, "") {
                    _ if before > GAP => return None,
                    Opening::Call(name, read) => {
                        let (payload, rest) = (tools.payload(name), code[read..].to_owned());
                        out.drop(out.held() - rest.len());
                        out.tool_call(name, payload);
                        self.state = State::Arguments(Literals::new(b')', payload));
                        return self.read(&rest, tools, out).then_some(text.len());
                    }
                    Opening::Other if !code.is_empty() => return None,
                    _ => {}
                }
            }
            State::Arguments(arguments) => {
                let Some(end) = arguments.read(text, out) else { return Some(text.len()) };
                let behind = arguments.take_behind();
                (self.state, self.has_called) = (State::Between, true);
                let are_calls = out.hiding(text.len() - end, |out| self.read(&behind, tools, out));
                return are_calls.then_some(end);
            }
            State::Between => {
                let read = text.len() - text.trim_start_matches(BEFORE).len();
                out.drop(read);
                if read < text.len() {
                    self.state = State::Head(String::new());
                }
                return Some(read);
            }
            State::Done => out.drop(text.len()),
            State::Text => return None,
        }
        Some(text.len())
    }

    /// Ends the string that is open, if one is, at a marker of `bytes` bytes that [ends
    /// strings](Output::ends_strings): its call is incomplete.
    pub(crate) fn end_string(&mut self, bytes: usize, out: &mut Output) {
        if let State::Arguments(arguments) = &mut self.state
            && arguments.in_string()
        {
            arguments.end(false, true, bytes, out);
            self.state = State::Done;
        }
    }

    /// Ends the region, before the last `bytes` held bytes: at its own end if it `is_closed`, else
    /// with the turn, which the model ended `by_itself` or not.
    pub(crate) fn end(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        match &mut self.state {
            State::Head(head) if is_closed && head.trim_start_matches(BEFORE).is_empty() => {
                out.drop(out.held() - bytes);
            }
            State::Head(_) if !is_closed => out.broken_call(bytes),
            State::Head(_) | State::Text => out.take(self.prose, out.held() - bytes),
            State::Arguments(arguments) => arguments.end(is_closed, by_itself, bytes, out),
            State::Between | State::Done => out.drop(out.held() - bytes),
        }
    }
}
