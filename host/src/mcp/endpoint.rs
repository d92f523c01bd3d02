//! What a connection to a tool server behind a URL is made of, and the HTTP client for it.

use std::collections::HashMap;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use reqwest::Client;
use reqwest::redirect::Policy;

use super::config::UrlEndpoint;
use super::error::McpError;
use super::request_url::PublicResolver;
use crate::tls;

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
