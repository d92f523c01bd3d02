//! Errors of GGUF files.

/// A file that can't be used: one line that says which, what is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct GgufError {
    /// The file.
    pub file: String,
    /// What is wrong.
    pub reason: String,
}

impl GgufError {
    pub(crate) fn new(file: &str, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), reason: reason.into() }
    }
}

/// Why a header can't be read.
#[derive(Debug)]
pub(crate) enum HeaderError {
    /// The header goes on in bytes that the file has, and that aren't there yet.
    Incomplete,
    /// What is wrong with it.
    Wrong(String),
}

impl HeaderError {
    /// Adds what the reason is about.
    pub(crate) fn about(self, what: &str) -> Self {
        match self {
            Self::Incomplete => Self::Incomplete,
            Self::Wrong(reason) => Self::Wrong(format!("{what}: {reason}")),
        }
    }
}

impl From<String> for HeaderError {
    fn from(reason: String) -> Self {
        Self::Wrong(reason)
    }
}

/// A text of a file, fit for one line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().take(100).map(|c| if c.is_control() { '?' } else { c }).collect()
}
