//! Where a stream stands inside a region of calls.

use parser_sdk::Output;
use parser_sdk::json::Calls;
use parser_sdk::params::{ArgumentsWriter, Doubt};

use crate::dialect::DialectArguments;
use crate::lines::LineArguments;
use crate::python::PythonCalls;
use crate::table::{Within, are_ends};
use crate::values::Item;

/// Position inside a region of calls.
#[derive(Debug)]
pub(crate) enum InCall {
    /// In no region of calls.
    No,
    Json(Calls),
    Python(PythonCalls),
    Parameters(ArgumentsWriter),
    /// In arguments in a dialect of JSON.
    Dialect(DialectArguments),
    /// In arguments that are lines.
    Lines(LineArguments),
    /// Before a parameter's value that may be an item.
    Item(ArgumentsWriter, Item),
    /// In a parameter's value.
    Value(ArgumentsWriter),
    /// After a delimiter that ends the value if the call goes on after it.
    Ended(ArgumentsWriter, Doubt),
}

impl InCall {
    /// Position by which delimiters count.
    pub(crate) fn within(&self) -> Within {
        match self {
            Self::No => Within::NoCall,
            Self::Json(calls) if calls.in_string() => Within::String,
            Self::Json(calls) => Within::Json { is_open: calls.is_open() },
            Self::Python(calls) => calls.within(),
            Self::Dialect(arguments) => arguments.within(),
            Self::Parameters(_) | Self::Lines(_) => Within::Parameters,
            Self::Value(_) | Self::Item(..) => Within::Value,
            Self::Ended(_, doubt) if are_ends(doubt.behind(), false) => Within::Ended,
            Self::Ended(..) => Within::Trailing,
        }
    }

    /// Whether the region turned out to be no call.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Json(calls) => calls.is_text(),
            Self::Python(calls) => calls.is_text(),
            _ => false,
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

    /// Ends an open call or undecided text before the last `bytes` held bytes: at the region's
    /// close if it `is_closed`, else with the turn, which the model ended `by_itself` or not.
    pub(crate) fn end(&mut self, is_closed: bool, by_itself: bool, bytes: usize, out: &mut Output) {
        match self {
            Self::Json(calls) => calls.end(is_closed, by_itself, bytes, out),
            Self::Python(calls) => calls.end(is_closed, by_itself, bytes, out),
            Self::Dialect(arguments) => arguments.end(is_closed, bytes, out),
            Self::Lines(arguments) => arguments.end(is_closed, bytes, out),
            Self::Parameters(arguments) if is_closed => arguments.close(out),
            Self::Value(arguments) if is_closed => {
                arguments.end(bytes, out);
                arguments.close(out);
            }
            Self::Ended(arguments, _) if is_closed || by_itself => {
                arguments.end(bytes, out);
                arguments.close(out);
            }
            _ => out.drop(out.held() - bytes),
        }
    }
}
