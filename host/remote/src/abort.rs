//! Aborts a request at an engine that keeps generating after its connection is closed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::upstream::Upstream;

/// Time limit of the abort request.
const TIME: Duration = Duration::from_secs(5);

/// Aborts the request when the guard is dropped, unless the guard was disarmed.
pub(super) struct AbortGuard(Option<(Arc<Upstream>, &'static str, Vec<u8>)>);

impl AbortGuard {
    /// `abort` is the path and body of the abort request; `None` if closing the connection is
    /// enough.
    pub(super) fn new(upstream: &Arc<Upstream>, abort: Option<(&'static str, Vec<u8>)>) -> Self {
        Self(abort.map(|(path, body)| (Arc::clone(upstream), path, body)))
    }

    /// Called when the request has ended and needs no abort.
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for AbortGuard {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and the connection closes with it.
        let (Some((upstream, path, body)), Ok(runtime)) = (self.0.take(), Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            let sent = upstream.post(path, body).timeout(TIME).send().await;
            if sent.is_err_and(|error| !error.is_timeout()) {
                tracing::warn!(engine = %upstream.name(), "a request couldn't be given up at a remote engine");
            }
        });
    }
}
