//! All remote engines of one model, as one `Engine`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use engine::{
    ConstraintSupport, Engine, EngineInfo, EngineStats, Generation, GenerationRequest, SubmitError,
};
use futures_util::future::join_all;
use tokio::task::JoinSet;

use super::options::{EngineList, RemoteOptions};
use super::pool::{PoolSettings, UpstreamPool};
use super::probe::ProbeError;
use super::request::RemoteRequest;
use super::routing::{Router, RoutingOptions};
use super::stream::RemoteStream;
use super::upstream::{self, Upstream};
use super::vocabulary::Vocabulary;
use super::watch;
use crate::limits::RemoteLimits;
use net::ServerUrl;
use prompt::Tokenizer;

/// Why a model's remote engines can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The list of engines can't be read.
    #[error("--engine: {0}")]
    List(String),
    /// An engine answers but can't be used.
    #[error("the engine {url}: {reason}")]
    Engine {
        /// URL of the engine.
        url: String,
        /// Reason, for the operator.
        reason: String,
    },
    /// The HTTP client can't be set up.
    #[error("no connections to engines can be set up: {0}")]
    Client(String),
}

/// Properties of the served model, which every remote engine must match.
pub struct RemoteModel {
    /// Name of the model in logs and metrics.
    pub label: Arc<str>,
    /// Names of the model; an engine may know it by one of them.
    pub names: Vec<String>,
    /// Tokenizer of the model, compared with the engines' own.
    pub tokenizer: Arc<Tokenizer>,
    /// Maximum number of tokens of prompt and answer together.
    pub context: usize,
}

/// `Engine` over a pool of remote engines. Dropping it ends the health checks; answers under way go
/// on.
pub struct RemoteEngine {
    pool: Arc<UpstreamPool>,
    info: EngineInfo,
    /// Task of the health checks, aborted when this field is dropped.
    _watching: JoinSet<()>,
}

impl RemoteEngine {
    /// Probes all engines and starts the health checks. An engine that doesn't answer yet joins as
    /// soon as it does.
    ///
    /// # Errors
    /// The list can't be read; an engine is there and can't be used, such as one of another model.
    pub async fn start(
        options: RemoteOptions,
        model: RemoteModel,
        limits: RemoteLimits,
    ) -> Result<Self, RemoteError> {
        let urls = options.engines.read().map_err(RemoteError::List)?;
        let has_tls = needs_tls(&options.engines, &urls);
        let client = upstream::client(has_tls, &options, &limits).map_err(RemoteError::Client)?;
        let RemoteModel { label, names, tokenizer, context } = model;
        let vocabulary = Vocabulary::new(tokenizer);
        let vocab = vocabulary.size();
        let pool = Arc::new(UpstreamPool {
            router: Router::new(RoutingOptions::default()),
            limits,
            vocabulary,
            list: Mutex::new(options.engines.clone()),
            settings: PoolSettings { options, client, has_tls, label, names },
            upstreams: Mutex::default(),
        });
        pool.set_urls(urls);
        let upstreams = pool.upstreams();
        for (upstream, looked) in upstreams
            .iter()
            .zip(join_all(upstreams.iter().map(|upstream| watch::join(&pool, upstream))).await)
        {
            match looked {
                Ok(()) => {}
                Err(ProbeError::Unusable(reason)) => {
                    return Err(RemoteError::Engine { url: upstream.name().to_string(), reason });
                }
                Err(ProbeError::Unreachable(reason)) => {
                    tracing::warn!(engine = %upstream.name(), reason, "an engine doesn't answer yet: it joins when it does");
                }
            }
        }
        let info = info(&upstreams, context, vocab);
        let mut watching = JoinSet::new();
        watching.spawn(watch::run(Arc::clone(&pool)));
        Ok(Self { pool, info, _watching: watching })
    }

    /// Where the engines' URLs are from.
    pub fn list(&self) -> EngineList {
        self.pool.list()
    }

    /// Checks a list that may replace the engines'.
    ///
    /// # Errors
    /// The file can't be read; or certificates would have to be checked, which was not set up at the
    /// start.
    pub fn check(&self, list: &EngineList) -> Result<(), String> {
        let urls = list.read()?;
        if needs_tls(list, &urls) && !self.pool.settings.has_tls {
            return Err("engines behind https, or in a file, need a restart where none was before".to_owned());
        }
        Ok(())
    }

    /// Replaces the list. The next health check applies it: answers under way go on.
    pub fn replace(&self, list: EngineList) {
        *self.pool.list.lock().unwrap_or_else(PoisonError::into_inner) = list;
    }
}

/// Whether certificates must be checked: the file may list `https` engines later.
fn needs_tls(list: &EngineList, urls: &[ServerUrl]) -> bool {
    matches!(list, EngineList::File(_)) || urls.iter().any(ServerUrl::is_https)
}

/// Facts of all engines together. The context is the smallest one, so that every engine can take
/// every accepted request. Constraints are checked per request and engine, since the list of
/// engines and their abilities change. The name holds no URLs, because clients can read it.
fn info(upstreams: &[Arc<Upstream>], context: usize, vocab: usize) -> EngineInfo {
    let facts: Vec<_> = upstreams.iter().filter_map(|upstream| upstream.facts()).collect();
    let names: BTreeSet<&str> = facts.iter().map(|facts| &*facts.name).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    EngineInfo {
        name: match (&*names, upstreams.len()) {
            ("", count) => format!("{count} at URLs, none there yet"),
            (names, 1) => names.to_owned(),
            (names, count) => format!("{count} of {names}"),
        },
        context: facts.iter().filter_map(|facts| facts.context).fold(context, usize::min),
        vocab,
        constraints: ConstraintSupport { grammar: true, json: true, masks: false },
    }
}

impl Engine for RemoteEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    fn submit(&self, request: GenerationRequest) -> Result<Generation, SubmitError> {
        let (tokens, context) = (request.prompt.len() + request.begun.len(), self.info.context);
        if tokens == 0 || tokens >= context {
            return Err(SubmitError::PromptLength { tokens, context });
        }
        let request = RemoteRequest::new(request, context);
        Ok(Generation::new(RemoteStream::new(Arc::clone(&self.pool), request)))
    }

    fn stats(&self) -> EngineStats {
        let engines = self.pool.router.status(Instant::now());
        EngineStats {
            running: engines.iter().map(|engine| engine.in_flight as usize).sum(),
            ..EngineStats::default()
        }
    }

    fn is_alive(&self) -> bool {
        self.pool.upstreams().iter().any(|upstream| upstream.facts().is_some())
    }
}

impl RemoteEngine {
    /// Whether one of the engines that are there follows grammars that name tokens.
    pub fn follows_grammars(&self) -> bool {
        let follows = |upstream: &Arc<Upstream>| upstream.facts().is_some_and(|facts| facts.follows_grammars);
        self.pool.upstreams().iter().any(follows)
    }
}

impl UpstreamPool {
    /// Replaces the list of engines. An engine on both lists keeps its state; one that is removed
    /// finishes the requests that it has begun.
    pub(super) fn set_urls(&self, urls: Vec<ServerUrl>) {
        let before = self.upstreams();
        let PoolSettings { options, client, label, .. } = &self.settings;
        let probe_time = self.limits.probe_time;
        let upstream = |url: ServerUrl| {
            let known = before.iter().find(|upstream| &**upstream.name() == url.name());
            known
                .cloned()
                .unwrap_or_else(|| Arc::new(Upstream::new(url, client.clone(), options, label, probe_time)))
        };
        let upstreams: Vec<_> = urls.into_iter().map(upstream).collect();
        let named = |upstream: &Arc<Upstream>| (Arc::clone(upstream.name()), Arc::clone(upstream));
        self.router.set_engines(upstreams.iter().map(named).collect());
        for upstream in &upstreams {
            self.router.set_up(upstream.name(), upstream.facts().is_some());
        }
        *self.upstreams.lock().unwrap_or_else(PoisonError::into_inner) = upstreams;
    }
}
