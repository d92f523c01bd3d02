//! Errors of listing or running a tool. Clients and the model read the messages, so these hold no
//! addresses, paths or secrets.

use std::time::Duration;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;

use net::printable::MESSAGE_BYTES;
use net::printable::shortened;
use net::tls::untrusted;

/// Failure of a tool server or of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The program didn't start, or nothing answers at the URL.
    #[error("the tool server can't be reached")]
    Unreachable,
    /// The server's certificate isn't trusted, for this reason.
    #[error("the tool server's certificate {0}")]
    Certificate(&'static str),
    /// The server answered with this HTTP status.
    #[error("the tool server answered with HTTP status {0}")]
    Status(u16),
    /// The server violates its transport's protocol.
    #[error("the tool server can't be used: {0}")]
    Protocol(&'static str),
    /// The server did not answer within this time.
    #[error("the tool server did not answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The connection ended before the answer.
    #[error("the tool server closed the connection before it answered")]
    Closed,
    /// The server reported that the request is wrong, or that it failed.
    #[error("the tool server answered with error {code}: {message}")]
    Refused {
        /// JSON-RPC's error code.
        code: i32,
        /// The server's message, cut to a maximum length.
        message: String,
    },
    /// The server's answer doesn't match the request.
    #[error("the tool server answered with something that is no result of this request")]
    Garbage,
    /// A message or an output is above the size limit, in bytes.
    #[error("the tool server's answer is larger than {0} bytes")]
    TooLarge(usize),
    /// A message has more JSON values than this.
    #[error("the tool server sent a message of more than {0} JSON values")]
    TooManyValues(usize),
    /// The server sent more than it may, which are this many messages in a second.
    #[error(
        "the tool server sent too much: {0} messages in a second are allowed, of up to 64 KiB, beside answers"
    )]
    Flooded(u32),
    /// The tool needs a user's answer during the call, or runs the call as a task. Neither is
    /// supported.
    #[error("the tool needs more than one exchange, which this server does not do")]
    Interactive,
    /// The arguments that the model wrote are not a JSON object.
    #[error("the arguments are not a JSON object: {0}")]
    Arguments(String),
    /// The tool ran and reported that it failed.
    #[error("{0}")]
    Tool(String),
}

impl McpError {
    /// Converts an error of the SDK. Only its kind is kept, since its message may hold addresses.
    pub(super) fn of_service(error: &ServiceError, time: Duration) -> Self {
        match error {
            ServiceError::McpError(error) => Self::refused(error),
            ServiceError::TransportSend(error) => {
                error.error.downcast_ref().and_then(Self::of_http).unwrap_or(Self::Closed)
            }
            ServiceError::Timeout { .. } => Self::Timeout(time),
            ServiceError::UnexpectedResponse => Self::Garbage,
            ServiceError::InputRequiredRoundsExceeded { .. } => Self::Interactive,
            _ => Self::Closed,
        }
    }

    /// Converts an error of the handshake.
    pub(super) fn of_handshake(error: &ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => Self::refused(error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => Self::of_handshake(fallback),
            ClientInitializeError::TransportError { error, .. } => {
                error.error.downcast_ref().and_then(Self::of_http).unwrap_or(Self::Unreachable)
            }
            _ => Self::Unreachable,
        }
    }

    /// Converts an error of an HTTP request; none if it says nothing useful.
    pub(super) fn of_http(error: &StreamableHttpError<reqwest::Error>) -> Option<Self> {
        Some(match error {
            StreamableHttpError::Client(error) => match error.status() {
                Some(status) => Self::Status(status.as_u16()),
                None => Self::Certificate(untrusted(error)?),
            },
            StreamableHttpError::HttpStatus(error) => Self::Status(error.status),
            StreamableHttpError::AuthRequired(_) => Self::Status(401),
            StreamableHttpError::InsufficientScope(_) => Self::Status(403),
            StreamableHttpError::ServerDoesNotSupportSse => Self::Status(405),
            StreamableHttpError::UnexpectedServerResponse(words) => {
                status_in(words).map_or(Self::Garbage, Self::Status)
            }
            StreamableHttpError::UnexpectedContentType(_) => {
                Self::Protocol("its answer is neither JSON nor an event stream")
            }
            StreamableHttpError::ResponseBodyTooLarge { max_size } => Self::TooLarge(*max_size),
            _ => return None,
        })
    }

    fn refused(error: &rmcp::ErrorData) -> Self {
        Self::Refused { code: error.code.0, message: shortened(&*error.message, MESSAGE_BYTES) }
    }

    /// Kind of the error, for logs: neither a server's words nor a model's.
    pub(super) fn kind(&self) -> String {
        match self {
            Self::Refused { code, message } => {
                format!("it answered with error {code} and {} bytes of explanation", message.len())
            }
            Self::Arguments(_) => "the arguments are no JSON object".to_owned(),
            Self::Tool(text) => format!("the tool reported a failure in {} bytes", text.len()),
            other => other.to_string(),
        }
    }

    /// Whether the connection may be unusable after this error.
    pub(super) fn breaks_connection(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::Interactive | Self::Arguments(_) | Self::Tool(_))
    }

    /// Whether a handshake that failed with this error may succeed over the older transport. A
    /// client that isn't authorised gains nothing by another transport.
    pub(super) fn may_be_older_server(&self) -> bool {
        match self {
            Self::Status(status) => (400..500).contains(status) && ![401, 403, 429].contains(status),
            Self::Refused { .. } => true,
            _ => false,
        }
    }
}

/// Status at the beginning of the SDK's message: the SDK has no field for statuses that it doesn't
/// handle.
fn status_in(words: &str) -> Option<u16> {
    words.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}
