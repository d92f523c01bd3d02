//! Giving up a request at an engine that goes on when its connection is closed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::upstream::Upstream;

/// Time for the engine to take it.
const TIME: Duration = Duration::from_secs(5);

/// Gives the request up when it is dropped, unless it was disarmed.
pub(super) struct AbortGuard(Option<(Arc<Upstream>, &'static str, Vec<u8>)>);

impl AbortGuard {
    /// For a request that is given up so; `None`: closing its connection does.
    pub(super) fn new(upstream: &Arc<Upstream>, abort: Option<(&'static str, Vec<u8>)>) -> Self {
        Self(abort.map(|(path, body)| (Arc::clone(upstream), path, body)))
    }

    /// The request has ended.
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for AbortGuard {
    fn drop(&mut self) {
        // Without a runtime the process ends, and its connections with it.
        let (Some((upstream, path, body)), Ok(runtime)) = (self.0.take(), Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            let sent = upstream.post(path, body).timeout(TIME).send().await;
            if sent.is_err_and(|error| !error.is_timeout()) {
                tracing::warn!(engine = %upstream.name(), "a request couldn't be given up at an engine elsewhere");
            }
        });
    }
}
