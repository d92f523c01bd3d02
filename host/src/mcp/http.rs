//! A tool server behind a URL: streamable HTTP, or the older server-sent events. Redirects aren't followed and no proxy is asked:
//! requests, and the secrets in their headers, go where they are configured to go.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use reqwest::Client;
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::client::Connection;
use super::config::{UrlEndpoint, UrlTransport};
use super::error::McpError;
use super::request_url::PublicResolver;
use super::sse::SseTransport;
use super::tls;

/// Time for a connection to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// What a connection is made of.
pub(super) struct HttpEndpoint<'a> {
    pub(super) at: &'a UrlEndpoint,
    /// Names are resolved to public addresses only.
    pub(super) public_only: bool,
    /// Bytes of one message.
    pub(super) most: usize,
    /// Time of one message to the server, where its answer comes another way.
    pub(super) post_time: Duration,
}

/// An open connection, over the transport that the operator names, else over the one that the server is found to speak: as the
/// protocol has it, one that refuses the first message of streamable HTTP is asked for server-sent events.
pub(super) async fn open(endpoint: &HttpEndpoint<'_>) -> Result<Connection, McpError> {
    let transport = endpoint.at.transport;
    if transport == UrlTransport::Sse {
        return sse(endpoint).await;
    }
    match streamable(endpoint).await {
        Err(refused) if transport == UrlTransport::Either && refused.may_be_older_server() => {
            tracing::debug!("a tool server refuses streamable HTTP: trying server-sent events");
            sse(endpoint).await.map_err(|error| match error {
                McpError::Status(_) => refused,
                error => error,
            })
        }
        opened => opened,
    }
}

async fn streamable(endpoint: &HttpEndpoint<'_>) -> Result<Connection, McpError> {
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint.at.url.as_str())
        .custom_headers(endpoint.headers())
        .max_sse_event_size(endpoint.most);
    let transport = StreamableHttpClientTransport::with_client(endpoint.client()?, config);
    Connection::open(transport, Arc::default(), endpoint.most).await
}

async fn sse(endpoint: &HttpEndpoint<'_>) -> Result<Connection, McpError> {
    let overflowed = Arc::new(AtomicBool::new(false));
    let transport = SseTransport::connect(endpoint, Arc::clone(&overflowed)).await?;
    Connection::open(transport, overflowed, endpoint.most).await
}

impl HttpEndpoint<'_> {
    /// A client for this endpoint alone.
    pub(super) fn client(&self) -> Result<Client, McpError> {
        let mut builder = Client::builder().redirect(Policy::none()).no_proxy().connect_timeout(CONNECT);
        if self.public_only {
            builder = builder.dns_resolver(PublicResolver);
        }
        let client = tls::with_tls(builder, self.at.url.starts_with("https:"), self.at.ca_file.as_deref())
            .and_then(|builder| builder.build().map_err(|error| format!("{error:?}")));
        client.map_err(|error| {
            tracing::warn!(error, "no connection to a tool server can be set up");
            McpError::Unreachable
        })
    }

    /// Sent with every request.
    pub(super) fn headers(&self) -> HashMap<HeaderName, HeaderValue> {
        self.at.headers.iter().cloned().collect()
    }
}
