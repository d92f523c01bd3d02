//! The server that is measured: its URL, its API, and requests to it.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderValue, header};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::api::{Api, Prompt};
use ::model::remote::{EngineKey, EngineUrl};
use ::model::tls;

/// The operator's settings for the server.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    /// Base URL of the server.
    pub url: EngineUrl,
    /// Model to request; none: the first that the server lists.
    pub model: Option<String>,
    /// API key of the server.
    pub key: Option<EngineKey>,
    /// File with the CA certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// API to use.
    pub api: Api,
    /// Fields added to every request; they replace the usual fields of the same names.
    pub extra: Map<String, Value>,
    /// Time limit of an answer.
    pub timeout: Duration,
}

/// Client of the server that is measured.
#[derive(Debug)]
pub struct Target {
    client: Client,
    options: TargetOptions,
    model: String,
}

#[derive(Deserialize)]
struct Listed {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
}

/// Largest list of models, in bytes.
const MAX_LIST: usize = 1 << 20;
const CONNECT_TIME: Duration = Duration::from_secs(10);

impl Target {
    /// Makes a client. If no model is configured, the server is asked for its list of models.
    ///
    /// # Errors
    /// The server can't be asked or lists no model. The message is one line.
    pub async fn new(options: TargetOptions) -> Result<Self, String> {
        let client = client(&options)?;
        let mut target = Self { client, model: options.model.clone().unwrap_or_default(), options };
        if target.options.model.is_none() {
            target.model = target.first_model().await?;
        }
        Ok(target)
    }

    /// Name of the requested model.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn api(&self) -> Api {
        self.options.api
    }

    pub(super) fn timeout(&self) -> Duration {
        self.options.timeout
    }

    /// Sends a request for a streaming answer; ready when the answer's head has come.
    pub(super) async fn ask(&self, prompt: &Prompt) -> Result<Response, reqwest::Error> {
        let Self { options, model, client } = self;
        let mut body = options.api.body(model, prompt);
        body.extend(options.extra.clone());
        let request = client.post(options.url.route(options.api.path()));
        let request = request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.with_key(request.body(Value::Object(body).to_string())).send().await
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.options.key {
            Some(key) => request.header(header::AUTHORIZATION, key.header()),
            None => request,
        }
    }

    async fn first_model(&self) -> Result<String, String> {
        let asked = self.with_key(self.client.get(self.options.url.route("v1/models")));
        let said = |what: String| format!("/v1/models of the server: {what}; name the model by --model");
        let answer = tokio::time::timeout(self.options.timeout, listed(asked)).await;
        let listed = answer.map_err(|_| said("no answer in time".to_owned()))?.map_err(said)?;
        let first = listed.data.into_iter().next();
        first.map(|model| model.id).ok_or_else(|| said("it lists none".to_owned()))
    }
}

async fn listed(request: RequestBuilder) -> Result<Listed, String> {
    let words = |error: reqwest::Error| ::model::remote::connection_words(&error);
    let answer = request.send().await.map_err(words)?;
    if !answer.status().is_success() {
        return Err(format!("status {}", answer.status().as_u16()));
    }
    let body = ::model::remote::read_body(answer, MAX_LIST).await?;
    serde_json::from_slice(&body).map_err(|_| "no list of models".to_owned())
}

/// HTTP client without redirects, proxy or compressed bodies, so that the server at this URL is
/// measured. Connections are reused for later requests, as other clients do.
fn client(options: &TargetOptions) -> Result<Client, String> {
    let builder = Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(CONNECT_TIME)
        .user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")));
    let builder = tls::with_tls(builder, options.url.is_https(), options.ca_file.as_deref())?;
    builder.build().map_err(|error| format!("{error:?}"))
}
