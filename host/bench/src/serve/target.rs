//! The server that is measured: its URL, its API, and requests to it.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Response;
use serde_json::{Map, Value};

use super::api::{Api, Prompt};
use net::{ApiClient, ServerKey, ServerUrl};

/// The operator's settings for the server.
#[derive(Debug, Clone)]
pub struct TargetOptions {
    /// Base URL of the server.
    pub url: ServerUrl,
    /// Model to request; none: the first that the server lists.
    pub model: Option<String>,
    /// API key of the server.
    pub key: Option<ServerKey>,
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
pub struct BenchTarget {
    client: ApiClient,
    options: TargetOptions,
    model: String,
}

impl BenchTarget {
    /// Makes a client. If no model is configured, the server is asked for its list of models.
    ///
    /// # Errors
    /// The server can't be asked or lists no model. The message is one line.
    pub async fn new(options: TargetOptions) -> Result<Self, String> {
        let client = ApiClient::new(options.url.clone(), options.key.clone(), options.ca_file.as_deref())?;
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
        client.post(options.api.path(), Value::Object(body).to_string()).send().await
    }

    async fn first_model(&self) -> Result<String, String> {
        let said = |what: String| format!("/v1/models of the server: {what}; name the model by --model");
        let answer = tokio::time::timeout(self.options.timeout, self.client.models()).await;
        let listed = answer.map_err(|_| said("no answer in time".to_owned()))?.map_err(said)?;
        listed.into_iter().next().map(|model| model.id).ok_or_else(|| said("it lists none".to_owned()))
    }
}
