//! What keeps stored responses alive and ends lost ones: leases are renewed, and responses whose
//! process is gone are ended.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use store::{Orphaned, Store, Swept};

use crate::accept::app::App;
use crate::state::ending::end;
use crate::state::running::Running;
use api::responses::Ending;
use system::random;
use turn::TurnFailure;

/// Time between two renewals: a quarter of a lease.
const RENEWAL: Duration = Duration::from_secs(5);

/// Lost responses that are ended at a time: each reads its log.
const ENDED_AT_ONCE: usize = 8;

/// Renews and sweeps for ever.
pub(crate) async fn upkeep(app: App) {
    let Some(store) = app.store.clone() else { return };
    loop {
        renew(&app, &store).await;
        if let Some(presence) = &app.presence {
            presence.keep(&*store).await;
        }
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
                        end(&app.running, &store, lease, Ending::Cancelled).await;
                    }
                }
            }
        }
    }
}

/// Why a response fails that nobody claims.
fn unserved() -> TurnFailure {
    tracing::warn!("a background response has waited too long for a server that serves its model: it fails");
    let message = "No server has served this response's model while it waited: start one that serves it, or ask for a model that /v1/models lists.";
    TurnFailure { code: "server_error", message: message.to_owned() }
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
        // Several at a time: a store that isn't here answers each call after a while.
        let ends = lost.into_iter().map(|Swept { lease, why }| {
            let ending = match why {
                Orphaned::Lost => Ending::Lost,
                Orphaned::Unserved => Ending::Failed(unserved()),
            };
            end(running, store, lease, ending)
        });
        futures_util::stream::iter(ends).for_each_concurrent(ENDED_AT_ONCE, |end| end).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use store::{Budget, Link, Needs, NewResponse, Options, Owner, Sqlite, State, Status, TimeSource};

    use super::*;
    use crate::state::request::StoredRequest;

    /// It waited for ever.
    #[tokio::test]
    async fn response_whose_model_nobody_serves_fails_with_the_reason() {
        let clock = TimeSource::manual(1_000_000_000_000);
        let options = Options { clock: clock.clone(), ..Options::default() };
        let store: Arc<dyn Store> = Arc::new(Sqlite::memory(&options).unwrap());
        let object = br#"{"id":"r","object":"response","status":"queued","output":[]}"#;
        let request = StoredRequest::write(object.to_vec(), None);
        let new = NewResponse { id: "r".to_owned(), link: Link::Alone, request, input: vec![] };
        let (owner, needs) = (Owner::new("ada"), Needs { model: "gone".to_owned(), version: 1 });
        store.enqueue(&owner, &needs, new, vec![]).await.unwrap();
        let state = async || store.response(&owner, "r", Budget::default()).await.unwrap().state;
        sweep(&Running::default(), &store).await;
        assert_eq!(state().await, State::Queued);
        clock.advance(Duration::from_mins(10));
        sweep(&Running::default(), &store).await;
        let State::Ended(ended) = state().await else { panic!("it waits") };
        let result: Value = serde_json::from_slice(&ended.result).unwrap();
        assert_eq!((ended.status, &result["status"]), (Status::Failed, &"failed".into()));
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("No server has served this response's model"), "{message}");
    }
}
