//! An open call in any of the spellings that the format mixes. `Llama3` holds an [`OpenCall`] while
//! a call is open, and feeds it.

use parser_sdk::json::{Call, Object, Progress};
use parser_sdk::literals::Literals;
use parser_sdk::{Output, Payload, Route, Tools};

/// Reader of an open call, by the spelling of the call's rest.
#[derive(Debug)]
pub(crate) enum OpenCall {
    /// A JSON object that contains the call's name.
    Named(Call),
    /// The JSON object of the arguments.
    Object(Object),
    /// Python's keyword arguments.
    Keywords(Literals),
    /// Plain text with this route, which only a marker ends.
    Text(Route),
}

impl OpenCall {
    /// A call that was just opened. The call's text is a custom tool's whole input, or else the
    /// string `parameter` of a function.
    pub(crate) fn of_text(parameter: &str, payload: Payload, out: &mut Output) -> Self {
        if payload == Payload::Text {
            return Self::Text(Route::Arguments);
        }
        out.derive(format!("{{\"{parameter}\": \""));
        Self::Text(Route::ArgumentsEscaped)
    }

    /// Whether the next byte is inside a string or in plain text, where a marker may be text, too.
    pub(crate) fn in_string(&self) -> bool {
        match self {
            Self::Named(call) => call.in_string(),
            Self::Object(arguments) => arguments.in_string(),
            Self::Keywords(keywords) => keywords.in_string(),
            Self::Text(_) => true,
        }
    }

    /// Reads `text` up to the call's end, where it closes the call. Returns the number of bytes
    /// read if the end came.
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

    /// What was held to find the call's end and stands behind it.
    pub(crate) fn take_behind(&mut self) -> String {
        if let Self::Keywords(keywords) = self { keywords.take_behind() } else { String::new() }
    }

    /// Ends a call whose own end didn't come, before the `keep` youngest held bytes. The call may
    /// be complete only if neither the token limit nor a cancellation cut it off (`by_itself`).
    pub(crate) fn end(&mut self, by_itself: bool, keep: usize, out: &mut Output) {
        match self {
            Self::Named(call) if by_itself && call.has_arguments() => call.close(out),
            Self::Named(call) => call.release(out),
            Self::Object(arguments) => arguments.release(out),
            Self::Keywords(keywords) => keywords.end(false, by_itself, keep, out),
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
