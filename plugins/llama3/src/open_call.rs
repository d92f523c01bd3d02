//! A call that is open, in any of the spellings that one format may mix. Its parser holds one of these, and tells it what comes.

use parser_sdk::json::{Call, Object, Progress};
use parser_sdk::{Output, Payload, Route, Tools};

use crate::python::Keywords;

/// How its rest is spelt.
#[derive(Debug)]
pub(crate) enum OpenCall {
    /// As a JSON object in which its name stood.
    Named(Call),
    /// As the JSON object of its arguments.
    Object(Object),
    /// As Python's keyword arguments.
    Keywords(Keywords),
    /// As plain text that goes this way; only a marker ends it.
    Text(Route),
}

impl OpenCall {
    /// A call just opened whose text is all that a custom tool is given, or else a function's only parameter.
    pub(crate) fn of_text(parameter: &str, payload: Payload, out: &mut Output) -> Self {
        if payload == Payload::Text {
            return Self::Text(Route::Arguments);
        }
        out.derive(format!("{{\"{parameter}\": \""));
        Self::Text(Route::ArgumentsEscaped)
    }

    /// Whether the next byte is inside a string, or of plain text: a marker there may be text, too.
    pub(crate) fn in_string(&self) -> bool {
        match self {
            Self::Named(call) => call.in_string(),
            Self::Object(arguments) => arguments.in_string(),
            Self::Keywords(keywords) => keywords.in_string(),
            Self::Text(_) => true,
        }
    }

    /// Reads on up to its end, where it is closed: after how many bytes that came.
    #[inline]
    pub(crate) fn read(&mut self, text: &str, tools: &Tools, out: &mut Output) -> Option<usize> {
        match self {
            Self::Named(call) => match call.read(text.as_bytes(), tools, out) {
                Progress::Closed(read) => Some(read),
                Progress::Unfinished | Progress::NotACall => None,
            },
            Self::Object(arguments) => arguments.read(text.as_bytes(), out),
            Self::Keywords(keywords) => keywords.read(text, out),
            Self::Text(route) => {
                out.until_marker(*route);
                None
            }
        }
    }

    /// It ends here without its own end, and before the `keep` youngest bytes: it may be whole only if the model came this far by itself.
    pub(crate) fn end(&mut self, by_itself: bool, keep: usize, out: &mut Output) {
        match self {
            Self::Named(call) if by_itself && call.has_arguments() => call.close(out),
            Self::Named(call) => call.release(out),
            Self::Object(arguments) => arguments.release(out),
            Self::Keywords(_) => out.drop(out.held() - keep),
            Self::Text(route) => {
                out.take(*route, out.held() - keep);
                if by_itself {
                    if *route == Route::ArgumentsEscaped {
                        out.derive("\"}");
                    }
                    out.close();
                }
            }
        }
    }
}
