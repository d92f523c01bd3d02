//! Calls written in Python, as the content `python-call-list` has them:
//! `[get_weather(city="Oslo"), get_time()]`.
//!
//! Invariant: a region that turns out to be no call is left to the parser as text, with every byte
//! since the last call held.

use parser_sdk::literals::{Literals, Opening};
use parser_sdk::{Output, Tools};

use crate::table::Within;

/// What may stand before a call, and most bytes of it.
const BEFORE: &[char] = &[' ', '\n', '\r', '\t', '[', ']', ','];
const GAP: usize = 64;

/// Reader of one region.
#[derive(Debug)]
pub(crate) enum PythonCalls {
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
    /// Calls behind the region's opening.
    pub(crate) fn new() -> Self {
        Self::Head(String::new())
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text)
    }

    /// Position in the region, by which delimiters count.
    pub(crate) fn within(&self) -> Within {
        match self {
            Self::Arguments(arguments) if arguments.in_string() => Within::String,
            Self::Arguments(_) => Within::Json { is_open: true },
            _ => Within::Json { is_open: false },
        }
    }

    /// Reads `text`, behind which nothing is held. Returns whether it belongs to calls; if not, all
    /// held bytes and the rest of the region are text.
    pub(crate) fn read(&mut self, mut text: &str, tools: &Tools, out: &mut Output) -> bool {
        while !text.is_empty() {
            let Some(read) = self.step(text, tools, out) else {
                *self = Self::Text;
                return false;
            };
            text = &text[read..];
        }
        true
    }

    /// Reads the first bytes of `text`. Returns how many, or `None` if they are no call.
    fn step(&mut self, text: &str, tools: &Tools, out: &mut Output) -> Option<usize> {
        match self {
            Self::Head(head) => {
                head.push_str(text);
                let code = head.trim_start_matches(BEFORE);
                let before = head.len() - code.len();
                match Opening::of_keywords(code, "") {
                    _ if before > GAP => return None,
                    Opening::Call(name, read) => {
                        let (payload, rest) = (tools.payload(name), code[read..].to_owned());
                        out.drop(out.held() - rest.len());
                        out.tool_call(name, payload);
                        *self = Self::Arguments(Literals::new(b')', payload));
                        return self.read(&rest, tools, out).then_some(text.len());
                    }
                    Opening::Other if !code.is_empty() => return None,
                    _ => {}
                }
            }
            Self::Arguments(arguments) => {
                let Some(end) = arguments.read(text, out) else { return Some(text.len()) };
                let behind = arguments.take_behind();
                *self = Self::Between;
                let are_calls = out.hiding(text.len() - end, |out| self.read(&behind, tools, out));
                return are_calls.then_some(end);
            }
            Self::Between => {
                let read = text.len() - text.trim_start_matches(BEFORE).len();
                out.drop(read);
                if read < text.len() {
                    *self = Self::new();
                }
                return Some(read);
            }
            Self::Done => out.drop(text.len()),
            Self::Text => return None,
        }
        Some(text.len())
    }

    /// Ends the string that is open, if one is, at a marker of `bytes` bytes that [ends
    /// strings](Output::ends_strings): its call is incomplete.
    pub(crate) fn end_string(&mut self, bytes: usize, out: &mut Output) {
        if let Self::Arguments(arguments) = self
            && arguments.in_string()
        {
            arguments.end(false, true, bytes, out);
            *self = Self::Done;
        }
    }

    /// Ends the region, before the last `bytes` held bytes: at its own end if it `is_closed`, else
    /// with the turn, which the model ended `by_itself` or not.
    pub(crate) fn end(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        match self {
            Self::Head(head) if is_closed && head.trim_start_matches(BEFORE).is_empty() => {
                out.drop(out.held() - bytes);
            }
            Self::Head(_) if !is_closed => out.broken_call(bytes),
            Self::Head(_) | Self::Text => out.content(out.held() - bytes),
            Self::Arguments(arguments) => arguments.end(is_closed, by_itself, bytes, out),
            Self::Between | Self::Done => out.drop(out.held() - bytes),
        }
    }
}
