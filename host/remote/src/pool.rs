//! State that all requests to the remote engines of one model share.

use std::sync::{Arc, Mutex, PoisonError};

use engine::SubmitError;
use reqwest::Client;

use super::options::{EngineList, RemoteOptions};
use super::request::RemoteRequest;
use super::routing::Router;
use super::upstream::Upstream;
use super::vocabulary::Vocabulary;
use crate::limits::RemoteLimits;

/// Settings for making and probing upstreams.
pub(super) struct PoolSettings {
    pub(super) options: RemoteOptions,
    pub(super) client: Client,
    /// Whether the client checks certificates, which it can't be taught later.
    pub(super) has_tls: bool,
    /// Name of the model in logs and metrics.
    pub(super) label: Arc<str>,
    pub(super) names: Vec<String>,
}

/// Remote engines of one model, with their router.
pub(super) struct UpstreamPool {
    pub(super) router: Router<Arc<Upstream>>,
    pub(super) limits: RemoteLimits,
    pub(super) vocabulary: Vocabulary,
    /// Engines that are listed now.
    pub(super) upstreams: Mutex<Vec<Arc<Upstream>>>,
    pub(super) settings: PoolSettings,
    /// Where the engines' URLs are from.
    pub(super) list: Mutex<EngineList>,
}

impl UpstreamPool {
    pub(super) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.upstreams.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn list(&self) -> EngineList {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Error for a request that no available engine can serve.
    pub(super) fn refusal(&self, request: &RemoteRequest) -> SubmitError {
        let refusals = self.upstreams().into_iter().filter_map(|upstream| upstream.check(request).err());
        let is_reason = |error: &SubmitError| !matches!(error, SubmitError::Unavailable { .. });
        refusals.into_iter().find(is_reason).unwrap_or(SubmitError::UNAVAILABLE)
    }
}
