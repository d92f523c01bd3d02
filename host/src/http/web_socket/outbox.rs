//! The outgoing side of a socket: its queue, and the writer that empties it into the connection.

use bytes::Bytes;
use futures_util::{Sink, SinkExt};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::metered::Intake;
use crate::api::error::ApiError;
use crate::api::responses::web_socket::{StreamId, error_event};
use crate::limits::Limits;

/// Number of messages that wait for the connection. Answers wait in their own logs behind it.
const QUEUE: usize = 16;

/// The client takes nothing, or has gone.
pub(super) struct Gone;

/// Sender of a socket's messages. Waits while the queue is full.
#[derive(Clone)]
pub(super) struct Outbox(mpsc::Sender<Message>);

impl Outbox {
    pub(super) fn new() -> (Self, mpsc::Receiver<Message>) {
        let (sender, queue) = mpsc::channel(QUEUE);
        (Self(sender), queue)
    }

    /// Sends an event. If the writer has ended, the socket ends, and nobody misses the event.
    pub(super) async fn event(&self, json: Bytes) {
        match Utf8Bytes::try_from(json) {
            Ok(text) => drop(self.0.send(Message::Text(text)).await),
            Err(error) => tracing::error!(%error, "an event is not UTF-8"),
        }
    }

    /// Sends the error of a request that gets no response.
    pub(super) async fn error(&self, error: &ApiError, stream_id: Option<&StreamId>) {
        self.event(error_event(error, stream_id)).await;
    }

    /// Sends the last message.
    pub(super) async fn close(&self, frame: CloseFrame) {
        let _ = self.0.send(Message::Close(Some(frame))).await;
    }
}

/// Writes the messages of `queue`, all that wait in one go, until its senders are gone. While there is nothing to write, pings keep proxies from
/// closing the connection.
///
/// # Errors
/// The client has gone, or has taken nothing for as long as clients of streams may.
pub(super) async fn write<S>(
    mut sink: S,
    mut queue: mpsc::Receiver<Message>,
    intake: &Intake,
    limits: &Limits,
) -> Result<(), Gone>
where
    S: Sink<Message> + Unpin,
{
    loop {
        let message = match timeout(limits.heartbeat, queue.recv()).await {
            Ok(Some(message)) => message,
            Ok(None) => return Ok(()),
            Err(_) => Message::Ping(Bytes::new()),
        };
        let writing = async {
            sink.feed(message).await?;
            while let Ok(message) = queue.try_recv() {
                sink.feed(message).await?;
            }
            sink.flush().await
        };
        with_progress(writing, intake, limits).await?;
    }
}

/// Waits for `writing` while the client takes something now and then.
async fn with_progress<E>(
    writing: impl Future<Output = Result<(), E>>,
    intake: &Intake,
    limits: &Limits,
) -> Result<(), Gone> {
    let mut writing = std::pin::pin!(writing);
    loop {
        let before = intake.written();
        match timeout(limits.slow_reader, writing.as_mut()).await {
            Ok(written) => return written.map_err(|_| Gone),
            Err(_) if intake.written() == before => {
                tracing::info!("the client of a WebSocket takes nothing: it is disconnected");
                return Err(Gone);
            }
            Err(_) => {}
        }
    }
}
