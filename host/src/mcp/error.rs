//! Why a tool can't be listed or run. The words go to clients and to the model: no addresses, paths or secrets in them.

use std::error::Error;
use std::io;
use std::time::Duration;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::tls;

/// What went wrong with a server of tools.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// It didn't start, or nothing answers at its URL.
    #[error("the tool server can't be reached")]
    Unreachable,
    /// Its certificate isn't trusted, and why.
    #[error("the tool server's certificate {0}")]
    Certificate(&'static str),
    /// It answered with this HTTP status.
    #[error("the tool server answered with HTTP status {0}")]
    Status(u16),
    /// It does not speak its transport as the protocol has it.
    #[error("the tool server can't be used: {0}")]
    Protocol(&'static str),
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

    /// What the SDK says of a handshake.
    pub(super) fn of_handshake(error: &ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => Self::refused(error),
            ClientInitializeError::TransportError { error, .. } => {
                error.error.downcast_ref().and_then(Self::of_http).unwrap_or(Self::Unreachable)
            }
            _ => Self::Unreachable,
        }
    }

    /// What the HTTP client says of a request; none if it is nothing that helps.
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
        Self::Refused { code: error.code.0, message: cut(&error.message, MESSAGE_BYTES).to_owned() }
    }

    /// Whether the connection may be of no more use.
    pub(super) fn breaks_connection(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::Interactive | Self::Arguments(_) | Self::Tool(_))
    }

    /// Whether a handshake that ended so may be one of a transport that the server is too old for. Who isn't let in isn't by another
    /// transport either.
    pub(super) fn may_be_older_server(&self) -> bool {
        match self {
            Self::Status(status) => (400..500).contains(status) && ![401, 403, 429].contains(status),
            Self::Refused { .. } => true,
            _ => false,
        }
    }
}

/// The status that the SDK's words begin with; it has no field for those that it doesn't know what to do with.
fn status_in(words: &str) -> Option<u16> {
    words.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

/// What is wrong with a certificate, if that is what is behind `error`. An I/O error doesn't name what it wraps as its source.
fn untrusted(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(rustls::Error::InvalidCertificate(error)) = error.downcast_ref() {
        return Some(tls::words(error));
    }
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => untrusted(inner),
        None => untrusted(error.source()?),
    }
}

/// The first `most` bytes of `text`, whole characters only.
pub(super) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
