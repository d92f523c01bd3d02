//! Errors of templates: what is wrong, and in which line of the template.

use std::fmt;

/// Kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The template isn't valid: found when it is parsed.
    Syntax,
    /// The template called `raise_exception`; the message is its own.
    Raised,
    /// An operation that Python refuses for these values.
    Runtime,
    /// The caller's bound on the template's work was reached.
    Exhausted,
    /// The template made a text or a list that is too large, or too much in all.
    TooLarge,
}

/// Error of a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// Kind of the error.
    pub kind: ErrorKind,
    /// What happened, in one line.
    pub message: String,
    /// Line of the template, from 1; `None` where it isn't known.
    pub line: Option<u32>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) if self.kind != ErrorKind::Raised => {
                write!(f, "{} (line {line} of the template)", self.message)
            }
            _ => f.write_str(&self.message),
        }
    }
}

impl Error {
    pub(crate) fn runtime(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Runtime, message: message.into(), line: None }
    }

    pub(crate) fn syntax(message: impl Into<String>, line: u32) -> Self {
        Self { kind: ErrorKind::Syntax, message: message.into(), line: Some(line) }
    }

    pub(crate) fn too_large() -> Self {
        Self {
            kind: ErrorKind::TooLarge,
            message: "the template makes too large a text or list, or too much in all".to_owned(),
            line: None,
        }
    }

    /// Adds the line where the error has none yet.
    pub(crate) fn at(mut self, line: u32) -> Self {
        self.line.get_or_insert(line);
        self
    }
}

/// Result of an operation in a template.
pub(crate) type Result<T> = std::result::Result<T, Error>;
