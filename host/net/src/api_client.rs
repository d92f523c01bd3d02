//! Client of a server's own API, for those who use it as its clients do: benchmarks, and the
//! commands that ask a model. Engines are called by `upstream`.
//!
//! Invariant: requests and their key go to the URL's server alone, without proxies and redirects.

use std::path::Path;
use std::time::Duration;

use http::{HeaderValue, header};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use serde::Deserialize;

use crate::failure::{connection_words, read_body};
use crate::server_url::{ServerKey, ServerUrl};
use crate::tls;

/// Largest list of models, in bytes.
const MAX_LIST: usize = 1 << 20;
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Client of one server. Connections are reused for later requests.
#[derive(Debug)]
pub struct ApiClient {
    client: Client,
    url: ServerUrl,
    key: Option<ServerKey>,
}

/// A model that a server lists.
#[derive(Debug, Deserialize)]
pub struct ListedModel {
    /// Its name in requests.
    pub id: String,
    #[serde(default)]
    max_model_len: serde_json::Value,
    #[serde(default)]
    context_length: serde_json::Value,
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<ListedModel>,
}

impl ListedModel {
    /// Most tokens of prompt and answer together, if the server says.
    pub fn context(&self) -> Option<u64> {
        self.max_model_len.as_u64().or_else(|| self.context_length.as_u64())
    }
}

impl ApiClient {
    /// Makes a client; `ca_file` has the authorities to trust instead of the system's.
    ///
    /// # Errors
    /// TLS can't be set up. The message is one line.
    pub fn new(url: ServerUrl, key: Option<ServerKey>, ca_file: Option<&Path>) -> Result<Self, String> {
        let builder = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_TIME)
            .user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")));
        let builder = tls::with_tls(builder, url.is_https(), ca_file)?;
        let client = builder.build().map_err(|error| format!("{error:?}"))?;
        Ok(Self { client, url, key })
    }

    /// The server's base URL.
    pub fn url(&self) -> &ServerUrl {
        &self.url
    }

    /// The key that requests have.
    pub fn key(&self) -> Option<&ServerKey> {
        self.key.as_ref()
    }

    /// POST request with a JSON body to one of the server's routes.
    pub fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
        let request = self.client.post(self.url.route(path));
        let request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.with_key(request.body(body))
    }

    /// The models that the server lists.
    ///
    /// # Errors
    /// The server can't be asked, or its answer is no such list. The message is one line without
    /// the URL.
    pub async fn models(&self) -> Result<Vec<ListedModel>, String> {
        let request = self.with_key(self.client.get(self.url.route("v1/models")));
        let answer = request.send().await.map_err(|error| connection_words(&error))?;
        if !answer.status().is_success() {
            return Err(format!("status {}", answer.status().as_u16()));
        }
        let body = read_body(answer, MAX_LIST).await?;
        let listed: Listed = serde_json::from_slice(&body).map_err(|_| "no list of models".to_owned())?;
        Ok(listed.data)
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.header(header::AUTHORIZATION, key.header()),
            None => request,
        }
    }
}
