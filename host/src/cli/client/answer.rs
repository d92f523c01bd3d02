//! One request and its streamed answer.
//!
//! Invariant: an answer has one end, whatever the server sends or leaves out: a stream that breaks
//! off has failed.

use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use net::printable::shortened;
use net::sse::SseReader;
use net::{ApiClient, connection_words, read_body};
use reqwest::Response;
use serde_json::{Map, Value};

use super::events::{Ending, ServerEvent, read};
use super::figures::Figures;

/// Largest event, in bytes: the last one holds the whole answer, and repeats the request's tools.
const MAX_ANSWER_EVENT: usize = 64 << 20;
/// Largest body of a refusal that is read, and how much of its message is shown.
const MAX_REFUSAL: usize = 1 << 20;
const MAX_MESSAGE: usize = 600;

/// What an answer brings, in order.
pub(super) enum ClientEvent {
    Reasoning(String),
    Text(String),
    /// Another message begins.
    Message,
    /// A call that the server runs, in words.
    HostedCall(String),
    End(Box<Finished>),
}

/// An answer that has ended.
pub(in crate::cli) struct Finished {
    pub(in crate::cli) ending: Ending,
    /// The response object, as far as the server sent it.
    pub(in crate::cli) response: Map<String, Value>,
    /// The items that the model wrote.
    pub(in crate::cli) items: Vec<Value>,
    /// Tokens and times.
    pub(in crate::cli) figures: Figures,
}

/// An answer that is being read.
pub(super) struct AnswerStream {
    response: Response,
    reader: SseReader,
    data: Vec<u8>,
    sent: Instant,
    first: Option<Duration>,
    items: Vec<Value>,
    /// What the server ignores of the request.
    warning: Option<String>,
    /// Message of an `error` event, after which most servers send the failed response.
    error: Option<String>,
}

impl AnswerStream {
    /// Sends a request; ready when the head of its answer has come. `advice` is what to say behind
    /// the server's message where it may not know the model.
    ///
    /// # Errors
    /// There is no connection, or the server refuses the request.
    pub(super) async fn open(
        api: &ApiClient,
        body: String,
        advice: impl FnOnce(&str) -> String,
    ) -> anyhow::Result<Self> {
        let sent = Instant::now();
        let response = api.post("v1/responses", body).send().await;
        let response = response.map_err(|error| anyhow!("{}: {}", api.url(), connection_words(&error)))?;
        let status = response.status();
        if !status.is_success() {
            let body = read_body(response, MAX_REFUSAL).await.unwrap_or_default();
            let message = refusal(&body);
            let advice = if matches!(status.as_u16(), 400 | 404) { advice(&message) } else { String::new() };
            bail!("{} refused the request ({}): {message}{advice}", api.url(), status.as_u16());
        }
        let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let kind = shortened(kind.unwrap_or("of no type"), MAX_MESSAGE);
            bail!("{} sent no stream of events, but {kind}: it has no Responses API", api.url());
        }
        let warning = response.headers().get("x-sluice-warning").and_then(|text| text.to_str().ok());
        let warning = warning.map(|text| shortened(text, MAX_MESSAGE));
        Ok(Self {
            warning,
            response,
            reader: SseReader::new(MAX_ANSWER_EVENT),
            data: Vec::new(),
            sent,
            first: None,
            items: Vec::new(),
            error: None,
        })
    }

    /// What the server says that it ignores of the request.
    pub(super) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The next event. After the end there is nothing to read.
    pub(super) async fn next(&mut self) -> ClientEvent {
        loop {
            match self.reader.next(&mut self.data) {
                Err(_) => return self.failed("the server sent an event that is too long".to_owned()),
                Ok(false) => {}
                Ok(true) => match self.event() {
                    Some(event) => return event,
                    None => continue,
                },
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.reader.push(&bytes),
                Ok(None) => return self.failed("the stream broke off before the answer's end".to_owned()),
                Err(error) => {
                    return self.failed(format!("the connection broke: {}", connection_words(&error)));
                }
            }
        }
    }

    /// Reads the event in `data`; none if it says nothing here.
    fn event(&mut self) -> Option<ClientEvent> {
        let event = read(&self.data)?;
        if matches!(event, ServerEvent::Reasoning(_) | ServerEvent::Text(_)) {
            self.first.get_or_insert_with(|| self.sent.elapsed());
        }
        match event {
            ServerEvent::Reasoning(text) => return Some(ClientEvent::Reasoning(text)),
            ServerEvent::Text(text) => return Some(ClientEvent::Text(text)),
            ServerEvent::Message => return Some(ClientEvent::Message),
            ServerEvent::HostedCall(what) => return Some(ClientEvent::HostedCall(what)),
            ServerEvent::Item(item) => self.items.push(item),
            ServerEvent::Error(message) => self.error = Some(message),
            ServerEvent::End(ending, response) => return Some(self.end(ending, response)),
        }
        None
    }

    /// The end of an answer that the server didn't end: with the message of its error, or `reason`.
    fn failed(&mut self, reason: String) -> ClientEvent {
        let message = self.error.take().unwrap_or(reason);
        self.end(Ending::Failed(message), Map::new())
    }

    fn end(&mut self, ending: Ending, response: Map<String, Value>) -> ClientEvent {
        let ending = match (ending, self.error.take()) {
            (Ending::Failed(message), Some(error)) if message.is_empty() => Ending::Failed(error),
            (ending, _) => ending,
        };
        let whole = response.get("output").and_then(Value::as_array).filter(|items| !items.is_empty());
        let items = whole.cloned().unwrap_or_else(|| std::mem::take(&mut self.items));
        let figures = Figures::of(response.get("usage"), self.first, self.sent.elapsed());
        ClientEvent::End(Box::new(Finished { ending, response, items, figures }))
    }
}

/// The message of a refusal, as OpenAI, vLLM and others word it.
fn refusal(body: &[u8]) -> String {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let said = parsed.as_ref().and_then(|value| {
        ["/error/message", "/message", "/detail", "/error"]
            .iter()
            .find_map(|path| value.pointer(path)?.as_str())
    });
    match said {
        Some("Not Found") => "it has no Responses API (/v1/responses)".to_owned(),
        Some(message) => shortened(message, MAX_MESSAGE),
        None if body.is_empty() => "without a message".to_owned(),
        None => shortened(String::from_utf8_lossy(body), MAX_MESSAGE),
    }
}
