//! Why a request brought no answer, by kind.

use std::fmt;

/// Kinds of failures. Servers' own words aren't kept: they may repeat a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// No connection.
    Connection,
    /// An answer with this status.
    Status(u16),
    /// The connection broke, or the stream has no end.
    Cut,
    /// An event says that the answer failed.
    Event,
    /// An event that can't be read.
    Malformed,
    /// It took longer than it may.
    Timeout,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection => f.write_str("no connection"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Cut => f.write_str("cut off"),
            Self::Event => f.write_str("failed answer"),
            Self::Malformed => f.write_str("malformed event"),
            Self::Timeout => f.write_str("timeout"),
        }
    }
}
