//! Why a tool can't be listed or run. The words go to clients and to the model: no addresses, paths or secrets in them.

use std::time::Duration;

use rmcp::service::ServiceError;

/// What went wrong with a server of tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// It didn't start, or nothing answers at its URL.
    #[error("the tool server can't be reached")]
    Unreachable,
    /// It did not answer in time.
    #[error("the tool server did not answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The connection ended before the answer.
    #[error("the tool server closed the connection before it answered")]
    Closed,
    /// It said that the request is wrong, or that it failed.
    #[error("the tool server answered with error {code}: {message}")]
    Refused {
        /// JSON-RPC's error code.
        code: i32,
        /// The server's words, cut short.
        message: String,
    },
    /// It answered, but not with what was asked for.
    #[error("the tool server answered with something that is no result of this request")]
    Garbage,
    /// A message or an output is larger than what is read.
    #[error("the tool server's answer is larger than {0} bytes")]
    TooLarge(usize),
    /// It needs a user's answer in the middle of the call, or runs the call as a task: neither is there.
    #[error("the tool needs more than one exchange, which this server does not do")]
    Interactive,
    /// What the model wrote isn't a JSON object.
    #[error("the arguments are not a JSON object: {0}")]
    Arguments(String),
    /// The tool ran and says that it failed.
    #[error("{0}")]
    Tool(String),
}

/// Bytes of a server's own error message that are passed on.
const MESSAGE_BYTES: usize = 2048;

impl McpError {
    /// What the SDK says. Its own words may hold addresses, so only the kind is kept.
    pub(super) fn of_service(error: &ServiceError, time: Duration) -> Self {
        match error {
            ServiceError::McpError(error) => {
                Self::Refused { code: error.code.0, message: cut(&error.message, MESSAGE_BYTES).to_owned() }
            }
            ServiceError::Timeout { .. } => Self::Timeout(time),
            ServiceError::UnexpectedResponse => Self::Garbage,
            ServiceError::InputRequiredRoundsExceeded { .. } => Self::Interactive,
            _ => Self::Closed,
        }
    }

    /// Whether the connection may be of no more use.
    pub(super) fn breaks_connection(&self) -> bool {
        matches!(self, Self::Closed | Self::Timeout(_) | Self::TooLarge(_) | Self::Garbage)
    }
}

/// The first `most` bytes of `text`, whole characters only.
pub(super) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
