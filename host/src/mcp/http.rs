//! A tool server behind a URL (streamable HTTP). Redirects aren't followed and no proxy is asked: requests, and the secrets in
//! their headers, go where they are configured to go.

use std::sync::Once;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use ::http::{HeaderName, HeaderValue};

use super::request_url::PublicResolver;

/// Time for a connection to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// What a transport is made of.
pub(super) struct HttpEndpoint<'a> {
    pub(super) url: &'a str,
    pub(super) headers: &'a [(HeaderName, HeaderValue)],
    /// Names are resolved to public addresses only.
    pub(super) public_only: bool,
    /// Bytes of one message.
    pub(super) most: usize,
}

/// A transport to the endpoint; nothing is sent yet.
pub(super) fn connect(
    endpoint: &HttpEndpoint<'_>,
) -> Result<StreamableHttpClientTransport<Client>, reqwest::Error> {
    let client = client(endpoint)?;
    let headers = endpoint.headers.iter().cloned().collect();
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint.url)
        .custom_headers(headers)
        .max_sse_event_size(endpoint.most);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn client(endpoint: &HttpEndpoint<'_>) -> Result<Client, reqwest::Error> {
    let mut builder = Client::builder().redirect(Policy::none()).no_proxy().connect_timeout(CONNECT);
    if endpoint.public_only {
        builder = builder.dns_resolver(PublicResolver);
    }
    with_tls(builder, endpoint.url.starts_with("https:")).build()
}

/// TLS by the system's root certificates; where the URL has none, none are needed to start.
fn with_tls(builder: ClientBuilder, needed: bool) -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error says that somebody else installed one: as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    if needed {
        return builder;
    }
    let nobody = rustls::RootCertStore::empty();
    let tls = rustls::ClientConfig::builder().with_root_certificates(nobody).with_no_client_auth();
    builder.tls_backend_preconfigured(tls)
}
