//! Export of spans to a collector, over OTLP/HTTP in JSON.
//!
//! Invariant: answers never wait for it. Spans wait in a bounded queue, and what doesn't fit, or what
//! the collector doesn't take, is lost and counted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, header};
use metrics::Counter;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::traces::span::{Span, export_request};
use net::tls;

/// Path that spans are sent to, below the endpoint.
const PATH: &str = "v1/traces";
/// Answers whose spans wait.
const QUEUE: usize = 1024;
/// Spans of a request, but for those of its last answer.
const BATCH: usize = 512;
/// Time in which spans are gathered for a request.
const GATHER: Duration = Duration::from_secs(1);
/// Time that the collector has to take a request.
const TIME: Duration = Duration::from_secs(10);
/// Time for the last spans when the server ends.
const LAST: Duration = Duration::from_secs(2);

system::declare_metrics! {
    counter EXPORTED(at_start) = "sluice_spans_exported_total", "Spans that the collector took.";
    counter LOST(at_start) = "sluice_spans_lost_total", "Spans that the collector didn't take, or that found no place to wait.";
}

enum Message {
    /// Spans of an answer.
    Spans(Vec<Span>),
    /// Told once all spans before it were sent or lost.
    Flush(oneshot::Sender<()>),
}

/// Exporter of spans. Clones are the same.
#[derive(Clone)]
pub struct TraceExporter(Arc<Export>);

struct Export {
    client: Client,
    url: Url,
    queue: mpsc::Sender<Message>,
    /// Taken by the task that sends.
    waiting: Mutex<Option<mpsc::Receiver<Message>>>,
    exported: Counter,
    lost: Counter,
}

impl TraceExporter {
    /// Makes an exporter to the collector at `endpoint`; `/v1/traces` is appended.
    ///
    /// # Errors
    /// It is no URL of `http` or `https`, or TLS can't be set up; the error is one line.
    pub fn new(endpoint: &str) -> Result<Self, String> {
        let base = format!("{}/", endpoint.trim_end_matches('/'));
        let url = Url::parse(&base).and_then(|base| base.join(PATH)).ok();
        let url = url.filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
        let url = url.ok_or("expected http://HOST:PORT or https://HOST:PORT")?;
        let builder = Client::builder().redirect(Policy::none()).no_proxy().timeout(TIME);
        let client = tls::with_tls(builder, url.scheme() == "https", None)?.build();
        let (queue, waiting) = mpsc::channel(QUEUE);
        Ok(Self(Arc::new(Export {
            client: client.map_err(|error| error.to_string())?,
            url,
            queue,
            waiting: Mutex::new(Some(waiting)),
            exported: metrics::counter!(EXPORTED.name()),
            lost: metrics::counter!(LOST.name()),
        })))
    }

    /// Queues the spans of an answer; where there is no place, they are lost.
    pub(crate) fn export(&self, spans: Vec<Span>) {
        let count = spans.len() as u64;
        if self.0.queue.try_send(Message::Spans(spans)).is_err() {
            self.0.lost.increment(count);
        }
    }

    /// Sends spans as they come, for ever. Only the first call does.
    pub(crate) async fn run(self) {
        let taken = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut waiting) = taken else { return };
        let mut is_taken = true;
        while let Some(first) = waiting.recv().await {
            let (spans, flushed) = gather(first, &mut waiting).await;
            if !spans.is_empty() {
                is_taken = self.send(&spans, is_taken).await;
            }
            // Whoever asked may have stopped waiting.
            if let Some(flushed) = flushed {
                let _ = flushed.send(());
            }
        }
    }

    /// Waits until the spans so far were sent, but not for long.
    pub(crate) async fn flush(&self) {
        let (sender, flushed) = oneshot::channel();
        let flush = async {
            if self.0.queue.send(Message::Flush(sender)).await.is_ok() {
                let _ = flushed.await;
            }
        };
        if timeout(LAST, flush).await.is_err() {
            tracing::warn!("the last spans weren't taken by the collector in time");
        }
    }

    /// Sends spans; returns whether the collector took them. A failure is logged once, until the
    /// collector takes spans again (`was_taken`).
    async fn send(&self, spans: &[Span], was_taken: bool) -> bool {
        let json = HeaderValue::from_static("application/json");
        let post = self.0.client.post(self.0.url.clone()).header(header::CONTENT_TYPE, json);
        // The answer's body is left unread: what it says would be a collector's words.
        let failure = match post.body(export_request(spans)).send().await {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(format!("it answered {}", answer.status().as_u16())),
            Err(error) => Some(net::connection_words(&error)),
        };
        let count = spans.len() as u64;
        match &failure {
            None => self.0.exported.increment(count),
            Some(_) => self.0.lost.increment(count),
        }
        match &failure {
            Some(reason) if was_taken => {
                tracing::warn!(reason, "the collector takes no spans: they are lost");
            }
            None if !was_taken => tracing::info!("the collector takes spans again"),
            _ => {}
        }
        failure.is_none()
    }
}

/// Takes the messages that come within a time; at a flush no more.
async fn gather(
    first: Message,
    waiting: &mut mpsc::Receiver<Message>,
) -> (Vec<Span>, Option<oneshot::Sender<()>>) {
    let (mut spans, until) = (Vec::new(), Instant::now() + GATHER);
    let mut next = Some(first);
    while let Some(message) = next {
        match message {
            Message::Flush(flushed) => return (spans, Some(flushed)),
            Message::Spans(more) => spans.extend(more),
        }
        next =
            if spans.len() < BATCH { timeout_at(until, waiting.recv()).await.ok().flatten() } else { None };
    }
    (spans, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoint_is_a_url_below_which_the_path_is() {
        for (given, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://collector:4318/", "http://collector:4318/v1/traces"),
            ("https://host/otlp", "https://host/otlp/v1/traces"),
        ] {
            assert_eq!(
                TraceExporter::new(given).ok().map(|made| made.0.url.to_string()),
                Some(url.to_owned())
            );
        }
        for wrong in ["", "collector:4317", "grpc://collector:4317", "http://", "/v1"] {
            assert!(TraceExporter::new(wrong).is_err(), "{wrong}");
        }
    }
}
