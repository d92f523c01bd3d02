//! HTTP client of the streamable transport: the MCP library's own, with every event of a stream
//! taken from the connection's allowance, whether it holds a message or not. So are attempts to
//! resume a stream, which a server may ask for without end.
//!
//! The stream that a client may open beside its requests (GET) isn't opened: a server could send on
//! it for ever without any call under way, and all that this client would use of it is the notice
//! that a list of tools has changed.

use std::collections::HashMap;
use std::sync::Arc;

use ::http::{HeaderName, HeaderValue};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::Client;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcRequest, RequestParamsMeta as _};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use super::allowance::Allowance;

type Headers = HashMap<HeaderName, HeaderValue>;
type Failure = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// Adds the trace context of a call, which MCP has in its message, as W3C's header, for proxies and
/// servers that read no messages.
fn with_traceparent(mut headers: Headers, message: &ClientJsonRpcMessage) -> Headers {
    if let ClientJsonRpcMessage::Request(JsonRpcRequest {
        request: ClientRequest::CallToolRequest(call), ..
    }) = message
        && let Some(context) = call.params.traceparent()
        && let Ok(value) = HeaderValue::from_str(context)
    {
        headers.insert(HeaderName::from_static("traceparent"), value);
    }
    headers
}

/// Client whose streams cost some of the allowance.
#[derive(Clone)]
pub(super) struct MeteredClient {
    pub(super) client: Client,
    pub(super) allowance: Arc<Allowance>,
}

impl MeteredClient {
    fn metered(&self, events: Events) -> Events {
        let allowance = Arc::clone(&self.allowance);
        let within = move |event: &Result<Sse, SseError>| {
            let data = event.as_ref().ok().and_then(|event| event.data.as_deref()).unwrap_or_default();
            std::future::ready(allowance.take_message(data.as_bytes()))
        };
        events.take_while(within).boxed()
    }
}

impl StreamableHttpClient for MeteredClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, auth, headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let headers = with_traceparent(headers, &message);
        let posted =
            self.client.post_message_with_response_limits(uri, message, session, auth, headers, limits);
        Ok(match posted.await? {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(self.metered(events), session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        self.client.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        self.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, usize::MAX).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<Events, Failure> {
        if last_event.is_none() || !self.allowance.take(0) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let resumed =
            self.client.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, most);
        Ok(self.metered(resumed.await?))
    }
}
