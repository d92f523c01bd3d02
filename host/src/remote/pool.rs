//! What all requests to the engines of one model share.

use std::sync::{Arc, Mutex, PoisonError};

use engine::SubmitError;
use reqwest::Client;

use super::options::RemoteOptions;
use super::request::RemoteRequest;
use super::routing::Router;
use super::upstream::Upstream;
use super::vocabulary::Vocabulary;
use crate::limits::RemoteLimits;

/// What upstreams are made of, and looked at for.
pub(super) struct PoolSettings {
    pub(super) options: RemoteOptions,
    pub(super) client: Client,
    /// What logs and metrics call the model.
    pub(super) label: Arc<str>,
    pub(super) names: Vec<String>,
}

/// See the module.
pub(super) struct UpstreamPool {
    pub(super) router: Router<Arc<Upstream>>,
    pub(super) limits: RemoteLimits,
    pub(super) vocabulary: Vocabulary,
    /// The engines as they are listed now.
    pub(super) upstreams: Mutex<Vec<Arc<Upstream>>>,
    pub(super) settings: PoolSettings,
}

impl UpstreamPool {
    pub(super) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.upstreams.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Why no engine that is there takes a request.
    pub(super) fn refusal(&self, request: &RemoteRequest) -> SubmitError {
        let refusals = self.upstreams().into_iter().filter_map(|upstream| upstream.check(request).err());
        let is_reason = |error: &SubmitError| !matches!(error, SubmitError::Unavailable { .. });
        refusals.into_iter().find(is_reason).unwrap_or(SubmitError::Unavailable { retry_after: None })
    }
}
