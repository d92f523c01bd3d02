//! The outgoing side of a socket: its queue, and the writer that empties it into the connection.

use bytes::Bytes;
use futures_util::{Sink, SinkExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::limits::HttpLimits;
use crate::ws::metered::Intake;
use api::error::ApiError;
use api::responses::web_socket::{StreamId, error_event};

/// Number of messages that wait for the connection. Answers wait in their own logs behind it.
const QUEUE: usize = 16;

/// The client takes nothing, or has gone.
pub(crate) struct Gone;

/// What waits for the writer.
pub(crate) enum Outgoing {
    Message(Message),
    /// Told when all before it is in the connection.
    Flushed(oneshot::Sender<()>),
}

/// Sender of a socket's messages. Waits while the queue is full.
#[derive(Clone)]
pub(crate) struct Outbox(mpsc::Sender<Outgoing>);

impl Outbox {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Outgoing>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        (Self(sender), queue)
    }

    /// Sends an event. If the writer has ended, the socket ends, and nobody misses the event.
    pub(crate) async fn event(&self, json: Bytes) {
        match Utf8Bytes::try_from(json) {
            Ok(text) => self.send(Outgoing::Message(Message::Text(text))).await,
            Err(error) => tracing::error!(%error, "an event is not UTF-8"),
        }
    }

    /// Sends an event that is made when there is room for it, so that nothing that follows from it
    /// comes before it.
    pub(crate) async fn event_made(&self, make: impl FnOnce() -> Bytes) {
        let Ok(place) = self.0.reserve().await else { return };
        match Utf8Bytes::try_from(make()) {
            Ok(text) => place.send(Outgoing::Message(Message::Text(text))),
            Err(error) => tracing::error!(%error, "an event is not UTF-8"),
        }
    }

    /// Sends the error of a request that gets no response.
    pub(crate) async fn error(&self, error: &ApiError, stream_id: Option<&StreamId>) {
        self.event(error_event(error, stream_id)).await;
    }

    /// Sends the last message.
    pub(crate) async fn close(&self, frame: CloseFrame) {
        self.send(Outgoing::Message(Message::Close(Some(frame)))).await;
    }

    /// Waits until the connection has taken all that was written so far, answers to pings included.
    pub(crate) async fn flushed(&self) {
        let (sender, flushed) = oneshot::channel();
        self.send(Outgoing::Flushed(sender)).await;
        let _ = flushed.await;
    }

    async fn send(&self, outgoing: Outgoing) {
        let _ = self.0.send(outgoing).await;
    }
}

/// Writes the messages of `queue`, all that wait in one go, until its senders are gone. While there
/// is nothing to write, pings keep proxies from closing the connection.
///
/// # Errors
/// The client has gone, or has taken nothing for as long as clients of streams may.
pub(crate) async fn write<S>(
    mut sink: S,
    mut queue: mpsc::Receiver<Outgoing>,
    intake: &Intake,
    limits: &HttpLimits,
) -> Result<(), Gone>
where
    S: Sink<Message, Error = Error> + Unpin,
{
    loop {
        let mut next = match timeout(limits.heartbeat, queue.recv()).await {
            Ok(Some(outgoing)) => Some(outgoing),
            Ok(None) => return Ok(()),
            Err(_) => Some(Outgoing::Message(Message::Ping(Bytes::new()))),
        };
        let mut told = Vec::new();
        let writing = async {
            while let Some(outgoing) = next {
                match outgoing {
                    Outgoing::Message(message) => sink.feed(message).await?,
                    Outgoing::Flushed(sender) => told.push(sender),
                }
                next = queue.try_recv().ok();
            }
            sink.flush().await
        };
        match with_progress(writing, intake, limits).await? {
            Ok(()) => told.into_iter().for_each(|sender| _ = sender.send(())),
            Err(Error::Protocol(ProtocolError::SendAfterClosing)) => {
                // The client has ended the socket, and the reader ends the closing handshake.
                tokio::time::sleep(limits.rest_time).await;
                return Err(Gone);
            }
            Err(_) => return Err(Gone),
        }
    }
}

/// Waits for `writing` while the client takes something now and then.
async fn with_progress<T>(
    writing: impl Future<Output = T>,
    intake: &Intake,
    limits: &HttpLimits,
) -> Result<T, Gone> {
    let mut writing = std::pin::pin!(writing);
    loop {
        let before = intake.written();
        match timeout(limits.slow_reader, writing.as_mut()).await {
            Ok(written) => return Ok(written),
            Err(_) if intake.written() == before => {
                tracing::info!("the client of a WebSocket takes nothing: it is disconnected");
                return Err(Gone);
            }
            Err(_) => {}
        }
    }
}
