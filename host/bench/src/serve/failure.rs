//! Kinds of failed requests.

use std::fmt;

/// Kind of a failure. The server's message is not kept, since it may repeat a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestFailure {
    /// The connection couldn't be made.
    Connection,
    /// The answer had this HTTP status.
    Status(u16),
    /// The connection broke, or the stream ended without a last event.
    Cut,
    /// An event reported that the answer failed.
    Event,
    /// An event couldn't be read.
    Malformed,
    /// The answer took longer than the timeout.
    Timeout,
}

impl fmt::Display for RequestFailure {
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
