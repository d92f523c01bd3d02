//! Ends of responses that aren't run, or not any more.

use std::sync::Arc;

use store::{Claimed, Events, Owner, Response, Store, Target};

use crate::state::request::{StoredRequest, Unreadable};
use crate::state::running::Running;
use api::responses::{Ending, FoldedLog};

/// Ends a response that isn't run, or not any more. Where its end can't be stored, who follows it is
/// told the end all the same.
pub(crate) async fn end(
    running: &Running,
    store: &Arc<dyn Store>,
    Claimed { lease, response }: Claimed,
    ending: Ending,
) {
    let unreadable = |unreadable: Unreadable| store::Error::Unavailable(unreadable.to_string());
    let ended = async {
        let request = StoredRequest::read(&response.request).map_err(unreadable)?;
        let log = folded_log(store, lease.owner(), &response).await?;
        let end = ending.end(request.object.get(), log);
        let last = end.last.clone().map(Arc::new);
        let stored = store.finish(Target::Lease(lease.clone()), end).await;
        if let (Err(store::Error::Unavailable(_)), Some(last)) = (&stored, last) {
            running.remember_unstored(lease.clone(), last);
        }
        stored
    };
    match ended.await {
        Ok(_) => running.forget_unstored(lease.id()),
        Err(error) => tracing::warn!(%error, "a lost response can't be ended now"),
    }
}

/// What the events of a response's log add up to, read piece by piece; none if it has no log.
pub(crate) async fn folded_log(
    store: &Arc<dyn Store>,
    owner: &Owner,
    response: &Response,
) -> store::Result<Option<FoldedLog>> {
    let mut log = FoldedLog::default();
    loop {
        let after = log.events().checked_sub(1);
        match store.events_after(owner, &response.id, after).await? {
            Events::Log { chunk, end } => {
                log.add(&chunk.events);
                if end || chunk.events.is_empty() {
                    return Ok(Some(log));
                }
            }
            Events::Expired | Events::Unlogged => return Ok(None),
        }
    }
}
