//! Where a stream stands inside a region of calls.

use parser_sdk::Output;
use parser_sdk::json::JsonCalls;
use parser_sdk::params::{ArgumentsWriter, Doubt};

use crate::dialect::DialectArguments;
use crate::lines::LineArguments;
use crate::python::PythonCalls;
use crate::table::Within;

/// Longest white space before a value that is held to see whether the value is a list, in bytes.
const WHITE: usize = 64;

/// Position inside a region of calls.
#[derive(Debug)]
pub(crate) enum InCall {
    /// In no region of calls.
    No,
    Json(JsonCalls),
    Python(PythonCalls),
    /// Before the first parameter, and the ends of elements that came there.
    Parameters(ArgumentsWriter, Doubt),
    /// In arguments in a dialect of JSON.
    Dialect(DialectArguments),
    /// In arguments that are lines.
    Lines(LineArguments),
    /// Before a parameter's value that may be an item.
    Item(ArgumentsWriter, Item),
    /// In a parameter's value, which has what would be its end in it or hasn't.
    Value(ArgumentsWriter, bool),
    /// After a delimiter that ends the value if the call goes on after it.
    Ended(ArgumentsWriter, Doubt),
    /// After words that belong to nothing in the call, which is incomplete: the rest is dropped.
    Broken,
}

impl InCall {
    /// Position by which delimiters count.
    pub(crate) fn within(&self) -> Within {
        match self {
            Self::No => Within::NoCall,
            Self::Json(calls) if calls.in_string() => Within::String,
            Self::Json(calls) if calls.is_done() => Within::Done,
            Self::Json(calls) => Within::Json { is_open: calls.is_open() },
            Self::Python(calls) => calls.within(),
            Self::Dialect(arguments) => arguments.within(),
            Self::Lines(arguments) => arguments.within(),
            Self::Parameters(..) => Within::Parameters,
            Self::Value(..) | Self::Item(..) => Within::Value,
            Self::Ended(..) => Within::Ended,
            Self::Broken => Within::Broken,
        }
    }

    /// Whether the region turned out to be no call: its close is text, too.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Json(calls) => calls.is_text(),
            Self::Python(calls) => calls.is_text(),
            _ => false,
        }
    }

    /// Whether a call is open that the next call would break off.
    fn is_unfinished(&self) -> bool {
        match self {
            Self::Json(calls) => calls.in_call(),
            Self::Python(calls) => calls.in_call(),
            Self::Parameters(..) | Self::Dialect(_) | Self::Item(..) | Self::Value(..) => true,
            Self::Lines(arguments) => !arguments.is_over(),
            Self::No | Self::Ended(..) | Self::Broken => false,
        }
    }

    /// Ends the string that is open, if one is, at a marker of `bytes` bytes that [ends
    /// strings](Output::ends_strings).
    pub(crate) fn end_string(&mut self, bytes: usize, out: &mut Output) {
        match self {
            Self::Json(calls) => calls.end_string(out),
            Self::Python(calls) => calls.end_string(bytes, out),
            _ => {}
        }
    }

    /// Ends an open call before another one, whose opening begins at the last `bytes` held bytes:
    /// it is complete if all of its parameters ended, and there was one.
    pub(crate) fn leave(&mut self, bytes: usize, out: &mut Output) {
        let is_unfinished = self.is_unfinished();
        self.end(!is_unfinished, false, bytes, out);
        if is_unfinished {
            out.message("");
        }
    }

    /// Ends an open call or undecided text before the last `bytes` held bytes: at the region's
    /// close if it `is_closed`, else with the turn, which the model ended `by_itself` or not.
    pub(crate) fn end(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        match self {
            Self::Json(calls) => calls.end(is_closed, by_itself, bytes, out),
            Self::Python(calls) => calls.end(is_closed, by_itself, bytes, out),
            Self::Dialect(arguments) => arguments.end(is_closed, bytes, out),
            Self::Lines(arguments) => arguments.end(is_closed, bytes, out),
            Self::Parameters(arguments, _) if is_closed => {
                out.drop(out.held() - bytes);
                arguments.close(out);
            }
            Self::Value(arguments, has_end) if is_closed => {
                arguments.end(bytes, out);
                // Words stand behind what ended the value, and in front of the call's end.
                if *has_end { out.message("") } else { arguments.close(out) }
            }
            Self::Ended(arguments, _) if is_closed || by_itself => {
                arguments.end(bytes, out);
                arguments.close(out);
            }
            _ => out.drop(out.held() - bytes),
        }
    }
}

/// A value of a parameter that is a list: the whole list as JSON, or its first item. The text that
/// came of it is held until that is clear.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) text: String,
}

impl Item {
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Whether it is clear what the value is.
    pub(crate) fn is_decided(&self) -> bool {
        self.text.len() > WHITE || !self.text.trim_start().is_empty()
    }
}
