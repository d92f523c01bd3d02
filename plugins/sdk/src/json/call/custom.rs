//! Arguments that may be a custom tool's: the string `input` of their object.

use super::{ArgumentsSpan, Call};
use crate::json::input::{Rest, Seek, Sought};
use crate::{Output, Route};

/// The string `input` of arguments that may be a custom tool's.
#[derive(Debug, Default)]
pub(super) enum Input {
    /// No string `input` is searched for.
    #[default]
    No,
    /// The string may still begin; meanwhile the arguments of an open call are held.
    Sought(Seek),
    /// The string is being read; behind it comes the rest of its object.
    Inside(ArgumentsSpan, Rest),
    /// The string has been read, and the call's name isn't known yet.
    Read(ArgumentsSpan, Rest),
    /// In an open call of a custom tool, behind the string.
    Behind(Rest),
}

impl Input {
    /// Whether text behind the string is lost.
    pub(super) fn is_foreign(&self) -> bool {
        matches!(self, Self::Behind(rest) if rest.is_foreign())
    }
}

impl Call {
    /// Takes the next bytes of arguments in which the string `input` is looked for or read: one
    /// byte, or bytes that the scanner skips. Returns whether they must be held because the string
    /// may still begin.
    pub(super) fn seek(&mut self, bytes: &[u8], out: &mut Output) -> bool {
        let ended = self.has_arguments();
        match &mut self.input {
            Input::Sought(seek) => {
                let mut sought = bytes.iter().map(|byte| seek.push(*byte));
                match sought.find(|sought| *sought != Sought::Seeking) {
                    Some(Sought::Found) => self.begin_input(out),
                    None if !ended => return true,
                    _ => self.release(out),
                }
            }
            Input::Inside(input, rest) if bytes == b"\"" && !self.scanner.in_string() => {
                let (mut input, mut rest) = (*input, std::mem::take(rest));
                rest.read(bytes);
                input.end = Some(self.read);
                if self.is_opened() {
                    self.arguments = Some(input);
                    self.input = Input::Behind(rest);
                } else {
                    self.input = Input::Read(input, rest);
                }
            }
            Input::Read(_, rest) | Input::Behind(rest) => _ = rest.read(bytes),
            Input::No | Input::Inside(..) => {}
        }
        false
    }

    /// Begins the string `input`, whose opening quote is the present byte.
    fn begin_input(&mut self, out: &mut Output) {
        let Input::Sought(seek) = std::mem::take(&mut self.input) else { return };
        let start = self.read + 1;
        let input = ArgumentsSpan { route: Route::ArgumentsUnescaped, start, end: None };
        self.input = Input::Inside(input, seek.into_rest());
        if let (true, Some(arguments)) = (self.is_opened(), &mut self.arguments) {
            out.drop(self.read - arguments.start);
            *arguments = input;
        }
    }
}
