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

/// A text of a file, fit for one line.
pub(crate) fn printable(text: &str) -> String {
    text.chars().take(100).map(|c| if c.is_control() { '?' } else { c }).collect()
}
