//! Client of the server's WebSocket.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// Time after which a server that says nothing has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// An open WebSocket of `/v1/responses`.
pub struct Socket(pub WebSocketStream<TcpStream>);

impl Socket {
    /// Opens a socket.
    ///
    /// # Panics
    /// If the server refuses.
    pub async fn open(address: SocketAddr) -> Self {
        Self::with_headers(address, &[]).await.expect("an upgrade").0
    }

    /// Opens a socket with these headers in its request. Also returns the answer's head.
    ///
    /// # Errors
    /// The server's refusal, with its body.
    ///
    /// # Panics
    /// If the connection fails.
    pub async fn with_headers(
        address: SocketAddr,
        headers: &[(&'static str, &str)],
    ) -> Result<(Self, Response), Box<Response>> {
        let mut request = format!("ws://{address}/v1/responses").into_client_request().expect("a request");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        let stream = TcpStream::connect(address).await.expect("a connection");
        match client_async(request, stream).await {
            Ok((socket, response)) => Ok((Self(socket), response)),
            Err(Error::Http(refusal)) => Err(refusal),
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends an event.
    ///
    /// # Panics
    /// If the socket is closed.
    pub async fn send(&mut self, event: &Value) {
        self.message(Message::text(event.to_string())).await;
    }

    /// Sends a `response.create` for the embedded model, with these fields in addition.
    ///
    /// # Panics
    /// As [`Self::send`].
    pub async fn create(&mut self, fields: Value) {
        let mut event = json!({ "type": "response.create", "model": "qwen3-tiny" });
        let Value::Object(fields) = fields else { panic!("an object") };
        event.as_object_mut().expect("an object").extend(fields);
        self.send(&event).await;
    }

    /// Sends a message.
    ///
    /// # Panics
    /// As [`Self::send`].
    pub async fn message(&mut self, message: Message) {
        self.0.send(message).await.expect("an open socket");
    }

    /// The next message but pings; none at the end.
    ///
    /// # Panics
    /// If nothing comes.
    pub async fn next_message(&mut self) -> Option<Message> {
        loop {
            match tokio::time::timeout(PATIENCE, self.0.next()).await.expect("a message within a minute")? {
                Ok(Message::Ping(_)) => {}
                Ok(message) => return Some(message),
                Err(_) => return None,
            }
        }
    }

    /// The next event.
    ///
    /// # Panics
    /// If another message or the end comes.
    pub async fn event(&mut self) -> Value {
        match self.next_message().await {
            Some(Message::Text(text)) => serde_json::from_str(&text).expect("an event is JSON"),
            other => panic!("not an event: {other:?}"),
        }
    }

    /// Events up to and with the first that ends a response or says that there is none.
    ///
    /// # Panics
    /// As [`Self::event`].
    pub async fn response(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            events.push(self.event().await);
            if is_last(&events[events.len() - 1]) {
                return events;
            }
        }
    }

    /// The response of a `response.create` with these fields, as its last event has it.
    ///
    /// # Panics
    /// If it fails, or as [`Self::event`].
    pub async fn answer(&mut self, fields: Value) -> Value {
        self.create(fields).await;
        let last = self.response().await.pop().expect("an event");
        assert_eq!(last["type"], "response.completed", "{last}");
        last["response"].clone()
    }

    /// The error of a `response.create` with these fields, which gets no response.
    ///
    /// # Panics
    /// If it gets one, or as [`Self::event`].
    pub async fn refusal(&mut self, fields: Value) -> Value {
        self.create(fields).await;
        let event = self.event().await;
        assert_eq!(event["type"], "error", "{event}");
        event
    }

    /// Reads to the end, and returns the events and the code of the server's close message, if it
    /// sent one.
    ///
    /// # Panics
    /// If the end doesn't come.
    pub async fn rest(&mut self) -> (Vec<Value>, Option<u16>) {
        let (mut events, mut code) = (Vec::new(), None);
        while let Some(message) = self.next_message().await {
            match message {
                Message::Text(text) => events.push(serde_json::from_str(&text).expect("an event is JSON")),
                Message::Close(frame) => code = frame.map(|frame| frame.code.into()),
                _ => {}
            }
        }
        (events, code)
    }
}

/// Whether nothing follows an event in its lane.
pub fn is_last(event: &Value) -> bool {
    let last = ["response.completed", "response.incomplete", "response.failed"];
    let kind = event["type"].as_str().unwrap_or_default();
    last.contains(&kind) || kind == "error" && event.get("status").is_some()
}

/// The text of a response's messages.
///
/// # Panics
/// If it is no response.
pub fn text(response: &Value) -> String {
    let output = response["output"].as_array().expect("output").iter();
    let parts = output.filter_map(|item| item["content"].as_array()).flatten();
    parts.filter(|part| part["type"] == "output_text").filter_map(|part| part["text"].as_str()).collect()
}
