//! The parser of one stream, whatever it is made of.

use std::error::Error;
use std::fmt;

use crate::{FinishReason, Step};

/// The parser of one stream, after its `start`. Calls come in stream order; `finish` is the last.
pub trait StreamParser {
    /// Takes text without any marker in it, never empty.
    ///
    /// # Errors
    /// The parser failed, and is never called again.
    fn text(&mut self, chunk: &str) -> Result<Step, Fault>;
    /// Takes marker `index` of the descriptor.
    ///
    /// # Errors
    /// As [`Self::text`].
    fn marker(&mut self, index: u32) -> Result<Step, Fault>;
    /// Ends the stream and returns the last step.
    ///
    /// # Errors
    /// As [`Self::text`].
    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault>;
    /// Resources used so far, if they are metered and the parser can still be called.
    fn usage(&self) -> Option<ResourceUsage> {
        None
    }
}

/// A parser that another thread may go on with.
pub type SendParser = Box<dyn StreamParser + Send>;

impl<P: StreamParser + ?Sized> StreamParser for Box<P> {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        (**self).text(chunk)
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        (**self).marker(index)
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        (**self).finish(reason)
    }

    fn usage(&self) -> Option<ResourceUsage> {
        (**self).usage()
    }
}

/// Failure of a parser: it gave up, broke the contract, trapped, or used up a limit. The parser is
/// never called again. Its size counts, since every call may return one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Name of the parser.
    pub parser: Box<str>,
    /// Reason in one line, without text of the stream or the request.
    pub reason: Box<str>,
    /// The parser's own words in one line, for its author. They may quote the stream, so no log and
    /// no client has them.
    pub words: Box<str>,
}

impl Fault {
    /// A fault without words of the parser's.
    pub fn new(parser: &str, reason: impl Into<Box<str>>) -> Self {
        Self { parser: parser.into(), reason: reason.into(), words: Box::default() }
    }

    /// Reason and words, for the parser's author.
    pub fn in_full(&self) -> String {
        if self.words.is_empty() {
            self.reason.to_string()
        } else {
            format!("{}: {}", self.reason, self.words)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parser {}: {}", self.parser, self.reason)
    }
}

impl Error for Fault {}

/// Resources that one instance has used, for the tools that test parsers. Instances that serve
/// streams aren't metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceUsage {
    /// Approximate number of instructions run.
    pub fuel: u64,
    /// Largest size of linear memory so far, in bytes.
    pub memory: usize,
}
