//! What keeps stored responses alive and ends lost ones: leases are renewed, and responses whose
//! process is gone are ended.

use std::sync::Arc;
use std::time::Duration;

use store::{Budget, Claimed, End, Lease, Status, Store};

use crate::accept::app::App;
use crate::state::ending::end;
use crate::state::running::Running;
use api::responses::Ending;
use system::random;

/// Time between two renewals: a quarter of a lease.
const RENEWAL: Duration = Duration::from_secs(5);

/// Renews and sweeps for ever.
pub(crate) async fn upkeep(app: App) {
    let Some(store) = app.store.clone() else { return };
    loop {
        renew(&app, &store).await;
        sweep(&app.running, &store).await;
        // Hosts that share a store sweep at different times.
        let jitter = Duration::from_millis(random::seed() % 1000);
        let pause = tokio::time::sleep(RENEWAL.saturating_sub(jitter));
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => break,
                abandoned = app.running.abandoned() => {
                    for lease in abandoned {
                        end_abandoned(&app.running, &store, lease).await;
                    }
                }
            }
        }
    }
}

/// Ends a response that its client left before it ran, or whose task failed.
async fn end_abandoned(running: &Running, store: &Arc<dyn Store>, lease: Lease) {
    match store.response(lease.owner(), lease.id(), Budget::default()).await {
        Ok(response) => end(running, store, Claimed { lease, response }, Ending::Cancelled).await,
        // A chat completion, of which nothing stays that doesn't end well, or a response that was
        // deleted.
        Err(store::StoreError::NotFound) => {
            let end = End { status: Status::Cancelled, result: Vec::new(), output: Vec::new(), last: None };
            let _ = store.finish(lease, end).await;
        }
        Err(error) => tracing::warn!(%error, "a response that was left can't be ended now"),
    }
}

async fn renew(app: &App, store: &Arc<dyn Store>) {
    let leases = app.running.leases();
    if leases.is_empty() {
        return;
    }
    match store.renew(leases).await {
        Ok(lost) => {
            for lease in lost {
                if let Some(handle) = app.running.find(lease.owner(), lease.id()) {
                    handle.withdrawn.cancel();
                }
            }
        }
        Err(error) => tracing::warn!(%error, "leases of stored responses can't be renewed"),
    }
}

async fn sweep(running: &Running, store: &Arc<dyn Store>) {
    loop {
        let lost = match store.sweep().await {
            Ok(lost) if lost.is_empty() => return,
            Ok(lost) => lost,
            Err(error) => return tracing::warn!(%error, "lost responses can't be ended now"),
        };
        for claimed in lost {
            end(running, store, claimed, Ending::Lost).await;
        }
    }
}
