//! The server that is measured: where it is, what it is asked for, and requests to it.

use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderValue, header};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::api::{Api, Prompt};
use crate::remote::{EngineKey, EngineUrl};
use crate::tls;

/// What the operator says of the server.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    /// Its base URL.
    pub url: EngineUrl,
    /// The model to ask for; none: the first that it lists.
    pub model: Option<String>,
    /// The key that it asks for.
    pub key: Option<EngineKey>,
    /// File of the only certificates that it is trusted by.
    pub ca_file: Option<PathBuf>,
    /// Its API.
    pub api: Api,
    /// Fields of every request, instead of the usual ones.
    pub extra: Map<String, Value>,
    /// The longest that an answer may take.
    pub timeout: Duration,
}

/// See the module.
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

/// The longest list of models.
const MAX_LIST: usize = 1 << 20;
const CONNECT_TIME: Duration = Duration::from_secs(10);

impl Target {
    /// Finds out which model to ask for, where that isn't said.
    ///
    /// # Errors
    /// The server can't be asked, or lists none: in one line.
    pub async fn new(options: TargetOptions) -> Result<Self, String> {
        let client = client(&options)?;
        let mut target = Self { client, model: options.model.clone().unwrap_or_default(), options };
        if target.options.model.is_none() {
            target.model = target.first_model().await?;
        }
        Ok(target)
    }

    /// The model that is asked for.
    pub fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn api(&self) -> Api {
        self.options.api
    }

    pub(super) fn timeout(&self) -> Duration {
        self.options.timeout
    }

    /// Sends a request for a streamed answer; ready at the answer's head.
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
    let words = |error: reqwest::Error| crate::remote::connection_words(&error);
    let answer = request.send().await.map_err(words)?;
    if !answer.status().is_success() {
        return Err(format!("status {}", answer.status().as_u16()));
    }
    let body = crate::remote::read_body(answer, MAX_LIST).await?;
    serde_json::from_slice(&body).map_err(|_| "no list of models".to_owned())
}

/// No redirects, no proxy and no packed bodies: what is measured is the server at this URL. Connections are kept for the next request, as
/// clients do.
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
