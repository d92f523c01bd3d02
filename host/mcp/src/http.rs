//! A tool server behind a URL: streamable HTTP, or the older server-sent events. Redirects aren't
//! followed and no proxy is used, so that requests, and the secrets in their headers, go only where
//! they are configured to go.

use std::sync::Arc;

use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::client::Connection;
use super::config::UrlTransport;
use super::endpoint::HttpEndpoint;
use super::error::McpError;
use super::metered_client::MeteredClient;
use super::sse::SseTransport;

/// Opens a connection over the operator's transport. If none is configured, streamable HTTP is
/// tried first, and server-sent events if the server refuses its first message, as the protocol
/// describes.
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
    let connect = || {
        let config = StreamableHttpClientTransportConfig::with_uri(endpoint.at.url.as_str())
            .custom_headers(endpoint.headers())
            .max_sse_event_size(endpoint.most())
            .max_json_response_size(endpoint.most());
        let allowance = endpoint.allowance();
        let client = MeteredClient { client: endpoint.client()?, allowance: Arc::clone(&allowance) };
        Ok((StreamableHttpClientTransport::with_client(client, config), allowance))
    };
    // A transport carries nothing else while its first message is unanswered.
    Ok(Connection::open(connect, endpoint.limits.start_time / 2).await?.over_http())
}

async fn sse(endpoint: &HttpEndpoint<'_>) -> Result<Connection, McpError> {
    let allowance = endpoint.allowance();
    let transport = SseTransport::connect(endpoint, Arc::clone(&allowance)).await?;
    Connection::shake_hands(transport, allowance).await
}
