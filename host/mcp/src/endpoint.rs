//! Settings of a connection to a tool server behind a URL, and the HTTP client for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use reqwest::Client;
use reqwest::redirect::Policy;

use super::allowance::Allowance;
use super::config::UrlEndpoint;
use super::error::McpError;
use super::request_url::PublicResolver;
use crate::limits::McpLimits;
use net::tls;

/// Time limit of connecting.
const CONNECT: Duration = Duration::from_secs(10);

/// Settings of one connection.
pub(super) struct HttpEndpoint<'a> {
    pub(super) at: &'a UrlEndpoint,
    /// Whether host names are resolved to public addresses only.
    pub(super) public_only: bool,
    /// Label of the server in metrics and logs.
    pub(super) label: Arc<str>,
    pub(super) limits: &'a McpLimits,
    /// Time limit of posting one message, for the transport whose answers come on another
    /// connection.
    pub(super) post_time: Duration,
}

impl HttpEndpoint<'_> {
    /// Makes an HTTP client for this endpoint only.
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

    /// Maximum size of one message, in bytes.
    pub(super) fn most(&self) -> usize {
        self.limits.message_bytes
    }

    /// Allowance of a new connection.
    pub(super) fn allowance(&self) -> Arc<Allowance> {
        Allowance::new(Arc::clone(&self.label), self.limits)
    }

    /// Headers of every request.
    pub(super) fn headers(&self) -> HashMap<HeaderName, HeaderValue> {
        self.at.headers.iter().cloned().collect()
    }
}
