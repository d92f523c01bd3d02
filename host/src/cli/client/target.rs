//! The server that answers: another one behind a URL, or one in this process with a model of its
//! own, which listens on a free port of the loopback interface and admits a key of this run alone.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use net::printable::{first_of, shortened};
use net::{ApiClient, ListedModel, ServerKey, ServerUrl};
use serde_json::{Map, Value};
use system::random::hex;
use tokio::task::JoinSet;

use super::answer::AnswerStream;
use crate::cli::config::ConfigArguments;
use crate::cli::mcp::McpArguments;
use crate::cli::models::ModelArguments;
use crate::cli::serve::prepare;
use crate::cli::serve_arguments::ServeArguments;
use crate::cli::values::parsed;

/// Variable that holds the key of the server, where no switch names another place.
pub(in crate::cli) const KEY_VARIABLE: &str = "SLUICE_API_KEY";
/// Time for a server to list its models.
const LIST_TIME: Duration = Duration::from_secs(30);
/// Models of a server that a message names, and the bytes that these names have at most.
const SHOWN_MODELS: usize = 16;
const SHOWN_BYTES: usize = 1000;

#[derive(clap::Args)]
pub(in crate::cli) struct TargetArguments {
    #[command(flatten)]
    pub(in crate::cli) config: ConfigArguments,
    /// Base URL of the server to ask, with or without `/v1`; `--model` is then a model's name there
    /// [default: a server in this process; and of the models that a server lists the first].
    #[arg(long, value_name = "URL", value_parser = parsed::<ServerUrl>)]
    pub(in crate::cli) url: Option<ServerUrl>,
    /// API key that is sent to the server at `--url`: an environment variable or a file that holds
    /// it [default: `env:SLUICE_API_KEY`, if that is set].
    #[arg(long, value_name = "env:VARIABLE|file:PATH", value_parser = parsed::<ServerKey>, requires = "url")]
    key: Option<ServerKey>,
    /// PEM file of the only certificate authorities that the server at `--url` is trusted by
    /// [default: the system's].
    #[arg(long, value_name = "FILE", requires = "url")]
    ca: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) models: ModelArguments,
}

/// A server that can be asked, and the model to name in requests.
pub(in crate::cli) struct ModelServer {
    api: ApiClient,
    pub(in crate::cli) model: String,
    /// Most tokens of prompt and answer together, if the server says.
    pub(in crate::cli) context: Option<u64>,
    /// Labels of the tool servers that the server in this process has.
    pub(in crate::cli) tool_servers: Vec<String>,
    /// The models that the server lists, if the one that was named isn't among them. It may be served
    /// all the same: the server decides.
    listed_others: Vec<String>,
    /// The server in this process, which ends with this value.
    _server: JoinSet<()>,
}

impl TargetArguments {
    /// Finds the server, or starts one with these tool servers.
    ///
    /// # Errors
    /// The model can't be served here; or the server at the URL can't be asked for its models, and
    /// no model was named.
    pub(in crate::cli) async fn reach(self, mcp: Option<McpArguments>) -> anyhow::Result<ModelServer> {
        let given: Vec<&str> = self.models.given().collect();
        let name = match given[..] {
            [] => None,
            [name] => Some(name.to_owned()),
            _ => return Err(anyhow!("one model is asked, and {} are given: choose by --model", given.len())),
        };
        let Some(url) = self.url else { return in_process(self.models, mcp).await };
        let key = match self.key {
            Some(key) => Some(key),
            None => key_of_environment()?,
        };
        let api = ApiClient::new(url, key, self.ca.as_deref()).map_err(anyhow::Error::msg)?;
        ModelServer::of(api, name, JoinSet::new(), Vec::new()).await
    }
}

/// The key in the variable for it; none if it isn't set.
fn key_of_environment() -> anyhow::Result<Option<ServerKey>> {
    let given = std::env::var(KEY_VARIABLE).ok().filter(|key| !key.trim().is_empty());
    given.map(|key| ServerKey::new(&key)).transpose().map_err(|reason| anyhow!("{KEY_VARIABLE}: {reason}"))
}

/// Loads the model and serves it.
async fn in_process(models: ModelArguments, mcp: Option<McpArguments>) -> anyhow::Result<ModelServer> {
    let key = hex::<24>();
    let mut arguments = ServeArguments::in_process(models, &key)?;
    if let Some(mcp) = mcp {
        arguments.mcp = mcp;
    }
    let labels = arguments.mcp.servers(&arguments.mcp.limits())?;
    let labels = labels.all().map(|server| server.label().to_owned()).collect();
    let prepared = prepare(&arguments, false).await?;
    let url = format!("http://{}", prepared.server.address()?).parse().map_err(anyhow::Error::msg)?;
    let name = prepared.running.models.first().names()[0].clone();
    let mut server = JoinSet::new();
    server.spawn(prepared.server.run(std::future::pending()));
    let key = ServerKey::new(&key).map_err(anyhow::Error::msg)?;
    let api = ApiClient::new(url, Some(key), None).map_err(anyhow::Error::msg)?;
    ModelServer::of(api, Some(name), server, labels).await
}

impl ModelServer {
    /// Asks the server for its models. A server that lists none is no error if the model is named.
    async fn of(
        api: ApiClient,
        name: Option<String>,
        server: JoinSet<()>,
        tool_servers: Vec<String>,
    ) -> anyhow::Result<Self> {
        let listed = tokio::time::timeout(LIST_TIME, api.models()).await;
        let listed = listed.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        let mut listed_others = Vec::new();
        let (model, context) = match (name, listed) {
            (Some(name), listed) => {
                let listed = listed.unwrap_or_default();
                let named = listed.iter().find(|model| model.id == name);
                let context = named.and_then(ListedModel::context);
                if named.is_none() {
                    listed_others = listed.into_iter().map(|model| model.id).collect();
                }
                (name, context)
            }
            (None, Ok(listed)) => {
                let first = listed.into_iter().next();
                let first =
                    first.with_context(|| format!("{} lists no model: name one with --model", api.url()))?;
                let context = first.context();
                (first.id, context)
            }
            (None, Err(reason)) => {
                return Err(anyhow!("the list of models of {}: {reason}", api.url()));
            }
        };
        Ok(Self { api, model, context, tool_servers, listed_others, _server: server })
    }

    /// Which models the server lists, if the one that was named isn't among them: the first few.
    pub(in crate::cli) fn unlisted(&self) -> Option<String> {
        if self.listed_others.is_empty() {
            return None;
        }
        let shown = shortened(first_of(&self.listed_others, SHOWN_MODELS), SHOWN_BYTES);
        Some(format!("{} lists no model {}, but {shown}", self.url(), self.model))
    }

    /// What to say behind the message of a refusal, which may be about the model's name: the names
    /// that the server lists, unless the message has some.
    fn advice(&self, message: &str) -> String {
        let is_said = self.listed_others.iter().any(|name| message.contains(name));
        self.unlisted().filter(|_| !is_said).map_or_else(String::new, |unlisted| format!("; {unlisted}"))
    }

    /// Base URL of the server, without `/v1`.
    pub(in crate::cli) fn url(&self) -> String {
        self.api.url().to_string()
    }

    /// The key that the server wants, as text; none if none is known.
    pub(in crate::cli) fn key(&self) -> Option<&str> {
        self.api.key().map(ServerKey::secret)
    }

    /// Sends a request, whose body lacks the model; ready when the answer begins.
    ///
    /// # Errors
    /// The server can't be reached or refuses the request; one line.
    pub(super) async fn ask(&self, mut body: Map<String, Value>) -> anyhow::Result<AnswerStream> {
        body.insert("model".to_owned(), self.model.as_str().into());
        body.insert("stream".to_owned(), true.into());
        let body = Value::Object(body).to_string();
        AnswerStream::open(&self.api, body, |message| self.advice(message)).await
    }
}
