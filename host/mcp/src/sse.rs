//! The transport of MCP's first version (2024-11-05), which many servers still use. One GET returns
//! server-sent events, which are the server's messages; the first one (`endpoint`) names the URL
//! that our messages are posted to. That URL must be on the same origin, since our headers may hold
//! secrets. A violation ends the connection, and the current call fails.

use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, header};
use reqwest::{Client, Response, Url};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::allowance::Allowance;
use super::endpoint::HttpEndpoint;
use super::error::McpError;
use net::sse::SseReader;
use net::tls::untrusted;

const EVENT_STREAM: &str = "text/event-stream";

/// Transport with a stream of messages from the server, and a URL to post messages to.
pub(super) struct SseTransport {
    client: Client,
    post: Url,
    headers: HeaderMap,
    post_time: Duration,
    events: Events,
}

/// Events of the server's stream. Each costs some of the allowance; one that is too large, or as
/// many bytes that bring none, end the connection.
struct Events {
    /// The rest of the stream; none after its end.
    body: Option<Response>,
    reader: SseReader,
    /// Data of the last event.
    data: Vec<u8>,
    most: usize,
    allowance: Arc<Allowance>,
}

impl Events {
    /// Waits for the next event; false at the end of the stream. Cancel-safe.
    async fn next(&mut self) -> bool {
        loop {
            match self.reader.next(&mut self.data) {
                Ok(true) => return self.allowance.take_message(&self.data),
                Ok(false) => {}
                Err(_) => {
                    self.allowance.end(McpError::TooLarge(self.most));
                    return false;
                }
            }
            let Some(body) = &mut self.body else { return false };
            match body.chunk().await {
                Ok(Some(chunk)) => self.reader.push(&chunk),
                Ok(None) | Err(_) => self.body = None,
            }
        }
    }
}

impl SseTransport {
    /// Opens the stream and waits for the server's endpoint.
    pub(super) async fn connect(
        endpoint: &HttpEndpoint<'_>,
        allowance: Arc<Allowance>,
    ) -> Result<Self, McpError> {
        let url = Url::parse(&endpoint.at.url).map_err(|_| McpError::Unreachable)?;
        let client = endpoint.client()?;
        let mut headers: HeaderMap = endpoint.headers().into_iter().collect();
        let opening = client.get(url.clone()).headers(headers.clone()).header(header::ACCEPT, EVENT_STREAM);
        let body = Some(stream_of(opening.send().await)?);
        let (most, post_time) = (endpoint.most(), endpoint.post_time);
        let mut events = Events { body, reader: SseReader::new(most), data: Vec::new(), most, allowance };
        let post = endpoint_of(&mut events, &url).await?;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { client, post, headers, post_time, events })
    }
}

/// The response, if it is an event stream.
fn stream_of(opened: Result<Response, reqwest::Error>) -> Result<Response, McpError> {
    let response =
        opened.map_err(|error| untrusted(&error).map_or(McpError::Unreachable, McpError::Certificate))?;
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        return Err(McpError::Status(status.as_u16()));
    }
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENT_STREAM.as_bytes())) {
        Ok(response)
    } else {
        Err(McpError::Protocol("its answer is no event stream"))
    }
}

/// Waits for the URL to post messages to.
async fn endpoint_of(events: &mut Events, url: &Url) -> Result<Url, McpError> {
    while events.next().await {
        if events.reader.kind() == b"endpoint" {
            let reference = std::str::from_utf8(&events.data);
            return resolve(url, reference.map_err(|_| NO_URL)?.trim());
        }
    }
    let ended = McpError::Protocol("its event stream ended before it named an endpoint");
    Err(events.allowance.violation().cloned().unwrap_or(ended))
}

const NO_URL: McpError = McpError::Protocol("its endpoint is no URL");

/// Resolves `reference` against `url`; an error if it leads to another origin or user.
fn resolve(url: &Url, reference: &str) -> Result<Url, McpError> {
    let post = url.join(reference).map_err(|_| NO_URL)?;
    let user = |url: &Url| (url.username().to_owned(), url.password().map(str::to_owned));
    if post.origin() != url.origin() || user(&post) != user(url) {
        return Err(McpError::Protocol("its endpoint is on another origin"));
    }
    Ok(post)
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
        while self.events.next().await {
            if matches!(self.events.reader.kind(), b"" | b"message") {
                if let Ok(message) = serde_json::from_slice(&self.events.data) {
                    return Some(message);
                }
                tracing::debug!(bytes = self.events.data.len(), "a tool server sent no message of MCP");
            }
        }
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events.body = None;
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
