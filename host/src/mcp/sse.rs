//! The transport of MCP's first version (2024-11-05), which many servers still use. One GET returns server-sent events, which are
//! the server's messages; the first one (`endpoint`) names the URL that our messages are posted to. That URL must be on the same
//! origin, since our headers may hold secrets. A violation ends the connection, and the current call fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, header};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use reqwest::{Client, Url};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpClient, StreamableHttpError};

use super::endpoint::HttpEndpoint;
use super::error::McpError;

/// An event's type and data.
type Event = (Option<String>, String);

/// Transport with a stream of messages from the server, and a URL to post messages to.
pub(super) struct SseTransport {
    client: Client,
    post: Url,
    headers: HeaderMap,
    post_time: Duration,
    events: BoxStream<'static, Result<Event, SseError>>,
    overflowed: Arc<AtomicBool>,
}

impl SseTransport {
    /// Opens the stream and waits for the server's endpoint. An event larger than `HttpEndpoint::most` ends the stream and sets
    /// `overflowed`.
    pub(super) async fn connect(
        endpoint: &HttpEndpoint<'_>,
        overflowed: Arc<AtomicBool>,
    ) -> Result<Self, McpError> {
        let url = Url::parse(&endpoint.at.url).map_err(|_| McpError::Unreachable)?;
        let client = endpoint.client()?;
        let (address, headers) = (Arc::from(endpoint.at.url.as_str()), endpoint.headers());
        let opened =
            client.get_stream_with_max_sse_event_size(address, None, None, None, headers, endpoint.most);
        let opened = opened.await.map_err(|error| {
            tracing::debug!(%error, "no event stream of a tool server");
            McpError::of_http(&error).unwrap_or(McpError::Unreachable)
        });
        let events = opened?.map(|event| event.map(|sse| (sse.event, sse.data.unwrap_or_default())));
        let mut events = events.boxed();
        let post = endpoint_of(&mut events, &url, endpoint.most).await?;
        let mut headers: HeaderMap = endpoint.headers().into_iter().collect();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let post_time = endpoint.post_time;
        Ok(Self { client, post, headers, post_time, events, overflowed })
    }
}

/// Waits for the URL to post messages to.
async fn endpoint_of(
    events: &mut BoxStream<'static, Result<Event, SseError>>,
    url: &Url,
    most: usize,
) -> Result<Url, McpError> {
    loop {
        match events.next().await {
            Some(Ok((kind, data))) if kind.as_deref() == Some("endpoint") => {
                return resolve(url, data.trim());
            }
            Some(Ok(_)) => {}
            Some(Err(error)) if is_too_large(&error) => return Err(McpError::TooLarge(most)),
            Some(Err(_)) | None => {
                return Err(McpError::Protocol("its event stream ended before it named an endpoint"));
            }
        }
    }
}

/// Resolves `reference` against `url`; an error if it leads to another origin or user.
fn resolve(url: &Url, reference: &str) -> Result<Url, McpError> {
    let post = url.join(reference).map_err(|_| McpError::Protocol("its endpoint is no URL"))?;
    let user = |url: &Url| (url.username().to_owned(), url.password().map(str::to_owned));
    if post.origin() != url.origin() || user(&post) != user(url) {
        return Err(McpError::Protocol("its endpoint is on another origin"));
    }
    Ok(post)
}

/// Whether the error is the SDK's for an event above the bound; only its message tells.
fn is_too_large(error: &SseError) -> bool {
    matches!(error, SseError::Body(error) if error.to_string().contains("maximum size"))
}

impl Transport<RoleClient> for SseTransport {
    type Error = StreamableHttpError<reqwest::Error>;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self.client.post(self.post.clone()).headers(self.headers.clone());
        let request = request.timeout(self.post_time);
        async move {
            let response = request.body(serde_json::to_vec(&message)?).send().await?;
            let status = response.status();
            if !status.is_success() {
                return Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}").into()));
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            match self.events.next().await? {
                Ok((kind, data)) if kind.as_deref().is_none_or(|kind| kind == "message") => {
                    match serde_json::from_str(&data) {
                        Ok(message) => return Some(message),
                        Err(error) => tracing::debug!(%error, "a tool server sent no message of MCP"),
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the event stream of a tool server broke");
                    self.overflowed.store(is_too_large(&error), Ordering::Relaxed);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = stream::empty().boxed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::resolve;

    #[test]
    fn the_endpoint_stays_on_its_origin() {
        let stream = Url::parse("https://tools.example:8443/a/sse?key=1").unwrap();
        for (named, meant) in [
            ("/messages?session=1", "https://tools.example:8443/messages?session=1"),
            ("messages/", "https://tools.example:8443/a/messages/"),
            ("https://tools.example:8443/m", "https://tools.example:8443/m"),
        ] {
            assert_eq!(resolve(&stream, named).map(String::from), Ok(meant.to_owned()));
        }
        for foreign in [
            "https://tools.example/m",
            "http://tools.example:8443/m",
            "https://evil.example:8443/m",
            "//evil.example/m",
            "https://user:pass@tools.example:8443/m",
            "https://tools.example:8443@evil.example/m",
            "file:///etc/passwd",
            "http://",
        ] {
            resolve(&stream, foreign).expect_err(foreign);
        }
    }
}
