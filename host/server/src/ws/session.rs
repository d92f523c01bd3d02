//! A socket from its upgrade to its end.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use crate::accept::app::App;
use crate::http::methods::DRAINING;
use crate::limits::HttpLimits;
use crate::server_metrics::WEBSOCKETS;
use crate::ws::create::Create;
use crate::ws::inbox::{Farewell, Inbox};
use crate::ws::lanes::{Lane, Lanes};
use crate::ws::memory::Memory;
use crate::ws::metered::{Intake, Metered, READ_BYTES};
use crate::ws::outbox::{self, Outbox};
use crate::ws::steering::Steering;
use crate::ws::turn::{Client, Socket};
use api::error::ApiError;

/// Serves a socket over an upgraded connection, for `client`. Dropping the future ends its
/// responses. `disconnect` closes the connection.
pub(crate) async fn serve<S>(app: App, client: Client, io: S, disconnect: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let _open = OpenSockets::enter();
    let limits = &app.limits.http;
    let intake = Intake::new(&app, &client.principal);
    let io = Metered::new(io, intake.clone(), limits.body_time);
    let (sink, mut stream) =
        WebSocketStream::from_raw_socket(io, Role::Server, Some(codec(limits))).await.split();
    let (out, queue) = Outbox::new();
    let (requests, requested) = mpsc::channel(1);
    let memory = Arc::new(Memory::new(&app, &client.principal));
    let steering = Steering::default();
    let socket = Socket { app: app.clone(), client, memory, steering, out: out.clone(), disconnect };
    let inbox = Inbox { app: &app, intake: &intake, out: &out, socket: &socket, requests };
    let mut writing = std::pin::pin!(outbox::write(sink, queue, &intake, limits));
    let farewell = tokio::select! {
        biased;
        _ = writing.as_mut() => None,
        farewell = inbox.read(&mut stream) => farewell,
        farewell = Session::new(&socket).run(requested) => Some(farewell),
    };
    // The responses have ended by now, and with them all senders but this one.
    drop(inbox);
    drop(socket);
    let Some(Farewell { error, close }) = farewell else { return };
    let leaving = async {
        let saying = async {
            if let Some(error) = error {
                out.error(&error, None).await;
            }
            out.close(close).await;
            drop(out);
        };
        let hearing = async { while let Some(Ok(_)) = stream.next().await {} };
        // Whoever has gone hears nothing.
        let _ = tokio::join!(saying, writing, hearing);
    };
    // A client that doesn't answer the closing handshake loses the connection all the same.
    let _ = timeout(limits.rest_time, leaving).await;
}

fn codec(limits: &HttpLimits) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(READ_BYTES)
        .max_message_size(Some(limits.body_bytes))
        .max_frame_size(Some(limits.body_bytes))
}

/// Gauge of open sockets.
struct OpenSockets(metrics::Gauge);

impl OpenSockets {
    fn enter() -> Self {
        let gauge = metrics::gauge!(WEBSOCKETS.name());
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for OpenSockets {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Why a socket takes no more requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// The server stops.
    Draining,
    /// The socket is as old as sockets get.
    Expired,
}

impl Closing {
    fn error(self, limits: &HttpLimits) -> ApiError {
        match self {
            Self::Draining => ApiError::unavailable(DRAINING),
            Self::Expired => {
                let message = format!(
                    "This WebSocket has been open for {} s, which is the limit: open another one, and send the whole input where the response to continue wasn't stored.",
                    limits.socket_time.as_secs()
                );
                ApiError::invalid(None, message).with_code("websocket_connection_limit_reached")
            }
        }
    }

    fn farewell(self, limits: &HttpLimits) -> Farewell {
        match self {
            Self::Draining => Farewell::new(CloseCode::Away, "the server stops", None),
            Self::Expired => Farewell::new(CloseCode::Away, "the socket's time is over", self.error(limits)),
        }
    }
}

/// The responses of a socket.
struct Session<'a> {
    socket: &'a Socket,
    lanes: Lanes<Create>,
    running: FuturesUnordered<BoxFuture<'a, Lane>>,
    closing: Option<Closing>,
}

impl<'a> Session<'a> {
    fn new(socket: &'a Socket) -> Self {
        let lanes = Lanes::new(&socket.app.limits.http);
        Self { socket, lanes, running: FuturesUnordered::new(), closing: None }
    }

    /// Runs requests until the socket takes no more and all responses have ended.
    async fn run(mut self, mut requests: mpsc::Receiver<Create>) -> Farewell {
        let app = &self.socket.app;
        let expiry = Instant::now() + app.limits.http.socket_time;
        let mut stopping = std::pin::pin!(app.stopping.cancelled());
        loop {
            if let Some(closing) = self.closing.filter(|_| self.running.is_empty()) {
                return closing.farewell(&app.limits.http);
            }
            tokio::select! {
                biased;
                () = stopping.as_mut(), if self.closing != Some(Closing::Draining) => self.close(Closing::Draining).await,
                () = sleep_until(expiry), if self.closing.is_none() => self.close(Closing::Expired).await,
                Some(lane) = self.running.next() => self.lanes.ended(&lane),
                Some(create) = requests.recv() => self.take(create).await,
            }
            while let Some((_, create)) = self.lanes.start() {
                self.running.push(self.socket.turn(create).boxed());
            }
        }
    }

    /// Takes a request, or refuses it.
    async fn take(&mut self, create: Create) {
        let lane = create.lane.clone();
        let refused = match self.closing {
            Some(closing) => Err(closing.error(&self.socket.app.limits.http)),
            None => self.lanes.push(lane.clone(), create),
        };
        if let Err(error) = refused {
            self.socket.out.error(&error, lane.as_ref()).await;
        }
    }

    /// Takes no more requests, and refuses those that wait.
    async fn close(&mut self, closing: Closing) {
        self.closing = Some(closing);
        let error = closing.error(&self.socket.app.limits.http);
        for (lane, _) in self.lanes.take_waiting() {
            self.socket.out.error(&error, lane.as_ref()).await;
        }
        for (lane, steers) in self.socket.steering.close() {
            self.socket.give_back(&lane, steers, &error.message).await;
        }
    }
}
