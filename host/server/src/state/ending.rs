//! Ends of responses that aren't run, or not any more.

use std::sync::Arc;

use store::{Budget, Claimed, Events, Owner, Response, State, Store, Target};

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
    let unreadable = |unreadable: Unreadable| store::StoreError::Unavailable(unreadable.to_string());
    let ended = async {
        let request = StoredRequest::read(&response.request).map_err(unreadable)?;
        let log = folded_log(store, lease.owner(), &response, &Budget::default()).await?;
        let end = ending.end(request.object.get(), log);
        let last = end.last.clone().map(Arc::new);
        let stored = store.finish(Target::Lease(lease.clone()), end).await;
        if let (Err(store::StoreError::Unavailable(_)), Some(last)) = (&stored, last) {
            running.remember_unstored(lease.clone(), last);
        }
        stored
    };
    match ended.await {
        Ok(_) | Err(store::StoreError::NotFound) => running.forget_unstored(lease.id()),
        Err(error) => tracing::warn!(%error, "a lost response can't be ended now"),
    }
}

/// Ends a response that doesn't run here as cancelled; `object` is the one that it began with. Returns false if
/// its log has grown meanwhile.
pub(crate) async fn cancel(
    running: &Running,
    store: &Arc<dyn Store>,
    owner: &Owner,
    response: &Response,
    object: &str,
) -> store::Result<bool> {
    let log = folded_log(store, owner, response, &Budget::default()).await?;
    let end = Ending::Cancelled.end(object, log);
    match store.finish(Target::Id(owner.clone(), response.id.clone()), end).await {
        Ok(_) => {
            running.forget_unstored(&response.id);
            Ok(true)
        }
        Err(store::StoreError::Sequence { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A response, with the items so far of one that runs: of a background one those that are open as
/// well, since its events are stored.
pub(crate) async fn with_output(
    store: &Arc<dyn Store>,
    owner: &Owner,
    id: &str,
    budget: Budget,
) -> store::Result<Response> {
    let mut response = store.response(owner, id, budget.clone()).await?;
    if response.background && matches!(response.state, State::Running(_)) {
        let log = folded_log(store, owner, &response, &budget).await?;
        response.state = State::Running(log.map(|log| budget.run(|| log.output())).unwrap_or_default());
    }
    Ok(response)
}

/// What the events of a response's log add up to, read piece by piece; none if it has no log.
pub(crate) async fn folded_log(
    store: &Arc<dyn Store>,
    owner: &Owner,
    response: &Response,
    budget: &Budget,
) -> store::Result<Option<FoldedLog>> {
    let mut log = FoldedLog::default();
    loop {
        let after = log.events().checked_sub(1);
        match store.events_after(owner, &response.id, after).await? {
            Events::Log { chunk, end } => {
                let before = log.bytes();
                budget.run(|| log.add(&chunk.events));
                budget.pay(log.bytes() - before)?;
                if end || chunk.events.is_empty() {
                    return Ok(Some(log));
                }
            }
            Events::Expired | Events::Unlogged => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use store::{Chunk, Lease, Link, NewResponse, Options, Sqlite};

    use super::*;

    const OBJECT: &str = r#"{"id":"r","object":"response","status":"in_progress","output":[]}"#;

    /// A response whose end couldn't be stored.
    async fn unstored(store: &Arc<dyn Store>, running: &Running) -> (Lease, Response) {
        let request = StoredRequest::write(OBJECT.into(), None);
        let new = NewResponse { id: "r".to_owned(), link: Link::Alone, request, input: vec![] };
        let lease = store.create(&Owner::new("local"), new).await.unwrap();
        let response = store.response(lease.owner(), "r", Budget::default()).await.unwrap();
        running.remember_unstored(lease.clone(), Arc::new(Chunk { first: 0, events: vec![] }));
        assert!(running.find(lease.owner(), "r").is_some());
        (lease, response)
    }

    /// It was remembered for ever where its client cancelled it, or it went while it was being ended.
    #[tokio::test]
    async fn unstored_end_is_forgotten_once_the_response_has_one_or_is_gone() {
        for is_gone in [false, true] {
            let store: Arc<dyn Store> = Arc::new(Sqlite::memory(&Options::default()).unwrap());
            let running = Running::default();
            let (lease, response) = unstored(&store, &running).await;
            let owner = lease.owner().clone();
            if is_gone {
                store.delete(&owner, "r").await.unwrap();
                end(&running, &store, Claimed { lease, response }, Ending::Lost).await;
            } else {
                assert_eq!(cancel(&running, &store, &owner, &response, OBJECT).await, Ok(true));
            }
            assert!(running.find(&owner, "r").is_none());
        }
    }
}
