//! One remote engine: its URL, the facts found by the last probe, and requests to it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderValue, header};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use tokio::sync::watch;

use super::facts::Facts;
use super::metrics::UpstreamMetrics;
use super::options::RemoteOptions;
use super::request::RemoteRequest;
use super::wire;
use crate::limits::RemoteLimits;
use engine::SubmitError;
use net::ServerUrl;
use net::tls;

/// Client of one remote engine.
pub(super) struct Upstream {
    url: ServerUrl,
    name: Arc<str>,
    client: Client,
    key: Option<HeaderValue>,
    /// Time limit of requests for the engine's facts, health and metrics.
    probe_time: Duration,
    /// Facts of the last probe; none while the engine is unreachable or not usable for the model.
    facts: watch::Sender<Option<Arc<Facts>>>,
    /// Time at which this value was made, and the milliseconds from then to the last event of an
    /// answer.
    made: Instant,
    delivered: AtomicU64,
    /// Reason for being unusable that was logged last.
    said: Mutex<String>,
    pub(super) metrics: UpstreamMetrics,
}

impl Upstream {
    pub(super) fn new(
        url: ServerUrl,
        client: Client,
        options: &RemoteOptions,
        model: &Arc<str>,
        probe_time: Duration,
    ) -> Self {
        let name: Arc<str> = url.name().into();
        let key = options.key.as_ref().map(net::ServerKey::header);
        let metrics = UpstreamMetrics::new(model, &name);
        Self {
            url,
            name,
            client,
            key,
            facts: watch::Sender::default(),
            probe_time,
            made: Instant::now(),
            delivered: AtomicU64::default(),
            said: Mutex::default(),
            metrics,
        }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Facts of the last probe, if the engine has passed its health checks since.
    pub(super) fn facts(&self) -> Option<Arc<Facts>> {
        self.facts.borrow().clone()
    }

    /// Sets the facts. `None` marks the engine as unavailable: after a restart it may serve another
    /// model, so it is probed again.
    pub(super) fn set_facts(&self, facts: Option<Facts>) {
        self.facts.send_replace(facts.map(Arc::new));
    }

    /// Ready when the engine is found to be unavailable.
    pub(super) fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut facts = self.facts.subscribe();
        async move {
            // The sender lives as long as the requests to this engine.
            if facts.wait_for(Option::is_none).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Records that an answer's event has come, which shows that the engine is alive.
    pub(super) fn delivered(&self) {
        let after = u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.delivered.store(after, Ordering::Relaxed);
    }

    /// Whether an answer's event has come since `time`.
    pub(super) fn has_delivered_since(&self, time: Instant) -> bool {
        self.made + Duration::from_millis(self.delivered.load(Ordering::Relaxed)) > time
    }

    /// Logs why the engine can't be used, unless the same reason was logged last.
    pub(super) fn log_once(&self, reason: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if *said != reason {
            tracing::error!(engine = %self.name, reason, "an engine can't be used");
            reason.clone_into(&mut said);
        }
    }

    /// Checks that the engine can do what the request asks for.
    ///
    /// # Errors
    /// The engine can't, or is unavailable.
    pub(super) fn check(&self, request: &RemoteRequest) -> Result<(), SubmitError> {
        let facts = self.facts().ok_or(SubmitError::UNAVAILABLE)?;
        if let Some(context) = facts.context.filter(|context| request.prompt.len() >= *context) {
            return Err(SubmitError::PromptLength { tokens: request.prompt.len(), context });
        }
        wire::of(facts.kind).check(request, &facts).map_err(|unsupported| unsupported.of(&facts.name))
    }

    /// GET request for the engine's facts, health or metrics.
    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.with_key(self.client.get(self.url.route(path))).timeout(self.probe_time)
    }

    /// POST request for the engine's facts.
    pub(super) fn ask(&self, path: &str, body: Vec<u8>) -> RequestBuilder {
        self.post(path, body).timeout(self.probe_time)
    }

    /// POST request with a JSON body to one of the engine's routes.
    pub(super) fn post(&self, path: &str, body: Vec<u8>) -> RequestBuilder {
        let request = self.client.post(self.url.route(path));
        self.with_key(
            request.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json")).body(body),
        )
    }

    fn with_key(&self, request: RequestBuilder) -> RequestBuilder {
        let request = request.header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        match &self.key {
            Some(key) => request.header(header::AUTHORIZATION, key),
            None => request,
        }
    }
}

/// HTTP client for all engines of a list, which checks certificates if it `has_tls`. It follows no redirects and uses no proxy, so that
/// requests and their key go only where they are configured to go. It accepts no compressed bodies,
/// so that small bodies stay small. Each request has a connection of its own: engines close idle
/// connections after seconds, and a request on a connection that is being closed is lost.
///
/// # Errors
/// TLS can't be set up.
pub(super) fn client(
    has_tls: bool,
    options: &RemoteOptions,
    limits: &RemoteLimits,
) -> Result<Client, String> {
    let builder = Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .http1_only()
        .connect_timeout(limits.connect_time)
        .pool_max_idle_per_host(0)
        .user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")));
    tls::with_tls(builder, has_tls, options.ca_file.as_deref())?.build().map_err(|error| format!("{error:?}"))
}
