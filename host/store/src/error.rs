//! What can go wrong in a store, as its callers must tell it apart. Every transaction that returns
//! an error has changed nothing.

use std::fmt::Display;

/// Why a transaction wasn't made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Unknown, another owner's, deleted or expired: these are the same. A parent that runs or
    /// failed, too.
    #[error("not found")]
    NotFound,
    /// The id is taken by something else.
    #[error("this id is stored already")]
    Duplicate,
    /// The conversation has an item with this id, or would get two.
    #[error("the conversation has an item with the id {0} already")]
    DuplicateItem(String),
    /// Another response of the conversation runs.
    #[error("the conversation is locked by a response that runs")]
    Locked,
    /// Another turn of the thread continues this one.
    #[error("this turn is continued already")]
    Continued {
        /// Whether that one runs.
        running: bool,
    },
    /// A bound of bytes, with nothing left to evict.
    #[error("the store is full: {0}")]
    Full(Full),
    /// The owner's queue of background responses is full.
    #[error("too many background responses wait: at most {0} of an owner")]
    QueueFull(u64),
    /// A chain or conversation is too long to be continued.
    #[error("the context is too long: {0}")]
    TooLong(TooLong),
    /// The reader's budget has no room for the next body: nothing of what was read is kept.
    #[error("what is read has more bytes than its reader can pay for")]
    Unpaid,
    /// Another host has the response, or nobody may write to it any more.
    #[error("the lease on this response was lost")]
    LeaseLost,
    /// A chunk doesn't begin where the log ends, has no events, or the response has no log.
    #[error("the event log goes on at number {expected}")]
    Sequence {
        /// The number that a chunk must begin at.
        expected: u64,
    },
    /// An id or name that is to be stored has a NUL character, which databases don't keep in a text.
    #[error("an id or name has a NUL character")]
    Nul,
    /// Something else is stored under this number: of a log's events, or of an output's items. What is
    /// the same again is a success.
    #[error("something else is stored under number {at} already")]
    Conflict {
        /// The number that was to be stored.
        at: u64,
    },
    /// The disk or the database fails. Nothing is known to be stored: the same call again makes it, or
    /// finds it made.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}

/// Which bound of bytes was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// One owner's.
    #[error("its owner's bytes are used up by what runs or is needed")]
    Owner,
    /// Everybody's.
    #[error("all its bytes are used up by what runs or is needed")]
    Store,
    /// One event log's.
    #[error("the response's event log has reached its bound")]
    Log,
}

/// Which bound of a context was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// The number of responses in a chain.
    #[error("its chain has too many responses")]
    Links,
    /// The bytes of all items.
    #[error("its items have too many bytes")]
    Bytes,
}

/// The result of a transaction.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why a store wasn't opened: one line, with what to do.
#[derive(Debug, thiserror::Error)]
#[error("store {file}: {why}")]
pub struct OpenError {
    file: String,
    why: String,
    cause: OpenCause,
}

/// What stands in the way of opening a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenCause {
    /// Another process has the file open.
    InUse,
    /// The file or its folder can't be created, read or written.
    Unreachable,
    /// The file is no store, is damaged, or is of a newer version.
    Content,
}

impl OpenError {
    pub(crate) fn new(cause: OpenCause, file: impl Display, why: impl Display) -> Self {
        Self { file: file.to_string(), why: why.to_string(), cause }
    }

    /// An error of SQLite on this file.
    pub(crate) fn sqlite(file: impl Display, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match error.sqlite_error_code() {
            Some(NotADatabase | DatabaseCorrupt) => Self::new(
                OpenCause::Content,
                file,
                format!("{error}; give a file that isn't something else's"),
            ),
            _ => Self::new(OpenCause::Unreachable, file, error),
        }
    }

    /// What stands in the way.
    pub fn cause(&self) -> OpenCause {
        self.cause
    }
}
