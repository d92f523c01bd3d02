//! The incoming side of a socket: reads messages, checks those that are events of the client, and
//! hands requests on.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::accept::app::App;
use crate::accept::body::{CheckedBody, refusal};
use crate::ws::create::Create;
use crate::ws::metered::{CONTROL_HEAD, Intake, READ_BYTES};
use crate::ws::outbox::Outbox;
use crate::ws::turn::Socket;
use accounts::Overdrawn;
use api::error::ApiError;
pub(crate) use api::responses::web_socket::ClientEvent;

/// Bytes of answers to pings that may wait for the connection.
const PONG_BYTES: usize = 64 << 10;

/// What the server says last on a socket.
pub(crate) struct Farewell {
    /// Error that is sent as an event before the end.
    pub(crate) error: Option<ApiError>,
    pub(crate) close: CloseFrame,
}

impl Farewell {
    pub(crate) fn new(code: CloseCode, reason: &'static str, error: impl Into<Option<ApiError>>) -> Self {
        let close = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
        Self { error: error.into(), close }
    }
}

/// Reader of one socket's messages.
pub(crate) struct Inbox<'a> {
    pub(crate) app: &'a App,
    pub(crate) intake: &'a Intake,
    pub(crate) out: &'a Outbox,
    pub(crate) socket: &'a Socket,
    pub(crate) requests: mpsc::Sender<Create>,
}

impl Inbox<'_> {
    /// Reads until the client ends the socket, or breaks its rules. Then there is something to say.
    pub(crate) async fn read(
        &self,
        stream: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
    ) -> Option<Farewell> {
        let mut pongs = 0;
        while let Some(message) = stream.next().await {
            match message {
                Ok(Message::Text(text)) => self.text(text.into()).await,
                Ok(Message::Binary(_)) => {
                    drop(self.intake.take_account());
                    self.out.error(&not_text(), None).await;
                }
                Ok(Message::Ping(payload)) => {
                    self.intake.forget_control(payload.len());
                    pongs += payload.len() + CONTROL_HEAD;
                    // The codec keeps the answers to pings until the connection takes them.
                    if pongs > PONG_BYTES {
                        self.out.flushed().await;
                        pongs = 0;
                    }
                }
                Ok(Message::Pong(payload)) => self.intake.forget_control(payload.len()),
                // Reading goes on to the end of the closing handshake.
                Ok(Message::Close(_) | Message::Frame(_)) => {}
                Err(error) => return self.farewell(error),
            }
        }
        None
    }

    async fn text(&self, text: Bytes) {
        let account = self.intake.take_account();
        // A small message is a part of the buffer that the codec reads into.
        let text = if text.len() <= READ_BYTES { Bytes::copy_from_slice(&text) } else { text };
        let read = CheckedBody::of_message(self.app, account, text, ClientEvent::read).await;
        let (event, body) = match read {
            Ok(read) => read,
            Err(error) => return self.out.error(&error, None).await,
        };
        match (event, body) {
            (Err(bad), _) => self.out.error(&bad.error, bad.stream_id.as_ref()).await,
            (Ok(ClientEvent::Processed), _) => {}
            (Ok(ClientEvent::Steer(request)), _) => {
                let account = self.app.accounts.open(self.socket.client.principal.clone());
                self.out.event_made(|| self.socket.steering.submit(request, account)).await;
            }
            (Ok(ClientEvent::EndReasoning(response)), _) => {
                self.out.event_made(|| self.socket.steering.end_reasoning(&response)).await;
            }
            (Ok(ClientEvent::Create { stream_id, .. }), Err(error)) => {
                self.out.error(&error, stream_id.as_ref()).await;
            }
            (Ok(ClientEvent::Create { stream_id: lane, generate, parent, store }), Ok(body)) => {
                // If nobody takes it, the socket ends.
                let _ = self.requests.send(Create { lane, generate, parent, store, body }).await;
            }
        }
    }

    /// What to say when reading failed; nothing if the client has gone.
    fn farewell(&self, error: Error) -> Option<Farewell> {
        tracing::debug!(%error, "a WebSocket can't be read");
        match error {
            Error::Capacity(CapacityError::MessageTooLong { .. }) => {
                let error = ApiError::too_large(self.app.limits.http.body_bytes);
                Some(Farewell::new(CloseCode::Size, "the message is too large", error))
            }
            Error::Utf8(_) => {
                let error = ApiError::invalid(None, "The message is not UTF-8.").with_code("invalid_json");
                Some(Farewell::new(CloseCode::Invalid, "the message is not UTF-8", error))
            }
            Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                let message =
                    format!("The message took longer than {} s.", self.app.limits.http.body_time.as_secs());
                let error = ApiError { status: 408, ..ApiError::invalid(None, message) };
                Some(Farewell::new(CloseCode::Policy, "the message took too long", error))
            }
            Error::Io(error) => {
                let overdrawn = error.get_ref()?.downcast_ref::<Overdrawn>()?;
                Some(Farewell::new(CloseCode::Again, "too much is being read at once", refusal(*overdrawn)))
            }
            Error::Protocol(error) if is_violation(&error) => {
                Some(Farewell::new(CloseCode::Protocol, "the frames break RFC 6455", None))
            }
            _ => None,
        }
    }
}

/// Whether the client broke the protocol, and didn't just go away.
fn is_violation(error: &tokio_tungstenite::tungstenite::error::ProtocolError) -> bool {
    use tokio_tungstenite::tungstenite::error::ProtocolError::{
        ReceivedAfterClosing, ResetWithoutClosingHandshake,
    };
    !matches!(error, ResetWithoutClosingHandshake | ReceivedAfterClosing)
}

fn not_text() -> ApiError {
    let message = "Binary messages are not understood here: send each event as JSON in a text message.";
    ApiError::invalid(None, message).with_code("unsupported_message")
}
