//! Answers whose ends are stored.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use store::{End, Finished, Lease, NewResponse, Owner, Reply, Status, Store, StoreError, StoredItem};
use tokio_util::sync::CancellationToken;

use crate::accept::app::App;
use crate::answer::{Answer, Keeper, Keeping, Kept};
use crate::state::request::StoredRequest;
use crate::state::resolve::{Resolved, check_unchanged};
use crate::state::running::RunningPlace;
use crate::state::store_error::{refusal, store};
use crate::state::threads;
use api::chat::stored::Wish;
use api::error::ApiError;
use api::messages::thread::ThreadWish;

/// Stores an answer that is about to begin, and has its end stored. Returns the answer's end from
/// outside: when the token is cancelled, the answer ends as cancelled.
///
/// # Errors
/// The store's. Nothing is stored then.
pub(crate) async fn keep(
    app: &App,
    owner: &Owner,
    answer: &mut Answer,
    resolved: &mut Resolved,
) -> Result<CancellationToken, ApiError> {
    let store = store(app)?;
    let record = answer.record().expect("only responses are stored");
    let new = NewResponse {
        id: record.id,
        link: resolved.link.clone(),
        request: StoredRequest::write(record.object, None),
        input: std::mem::take(&mut resolved.input),
    };
    let place = entered(app, store.create(owner, new), refusal).await?;
    if let Err(error) = check_unchanged(app, owner, resolved).await {
        // What can't be deleted now is ended as lost later.
        let _ = store.delete(owner, place.lease.id()).await;
        place.leave();
        return Err(error);
    }
    Ok(kept(answer, store, place))
}

/// Stores a completion whose answer is about to begin, and has its end stored. Returns the answer's
/// end from outside.
///
/// # Errors
/// The store's. Nothing is stored then.
pub(crate) async fn keep_completion(
    app: &App,
    owner: &Owner,
    answer: &mut Answer,
    wish: Wish,
) -> Result<CancellationToken, ApiError> {
    let store = store(app)?;
    let record = answer.record().expect("completions have records");
    let place = entered(app, store.completion_create(owner, wish.completion(record.id)), refusal).await?;
    Ok(kept(answer, store, place))
}

/// Stores a turn of a thread whose answer is about to begin, and has its end stored. Returns the
/// answer's end from outside.
///
/// # Errors
/// 400 where another turn continues the same one, and the store's. Nothing is stored then.
pub(crate) async fn keep_turn(
    app: &App,
    owner: &Owner,
    answer: &mut Answer,
    turn: ThreadWish,
) -> Result<CancellationToken, ApiError> {
    let store = store(app)?;
    let record = answer.record().expect("messages have records");
    let ThreadWish { link, own } = turn;
    let new = NewResponse { id: record.id, link, request: Vec::new(), input: own };
    let place = entered(app, store.create(owner, new), threads::refusal).await?;
    Ok(kept(answer, store, place))
}

/// The place of a response that is being stored. A task of its own waits for it, so that one whose
/// client leaves meanwhile gets a place, too, and with it an end.
///
/// # Errors
/// What `refusal` makes of the store's.
pub(crate) async fn entered(
    app: &App,
    creating: Reply<Lease>,
    refusal: fn(StoreError) -> ApiError,
) -> Result<RunningPlace, ApiError> {
    let running = app.running.clone();
    let entering = app.tasks.spawn(async move { creating.await.map(|lease| running.enter(lease)) });
    let entered = entering.await.map_err(|_| ApiError::internal("The server failed to store this."))?;
    entered.map_err(refusal)
}

/// Has the end of an answer stored that runs at this place. Returns the answer's end from outside.
pub(crate) fn kept(answer: &mut Answer, store: &Arc<dyn Store>, place: RunningPlace) -> CancellationToken {
    let withdrawn = place.withdrawn.clone();
    answer.withdrawn_by(&withdrawn);
    let _ = place.reasoning.set(answer.reasoning().clone());
    answer.kept_by(Box::new(StoreKeeper { store: Arc::clone(store), place }));
    withdrawn
}

/// Keeper of a stored answer's end.
pub(crate) struct StoreKeeper {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) place: RunningPlace,
}

impl Keeper for StoreKeeper {
    fn keep_items(&self, first: usize, items: Vec<StoredItem>) -> BoxFuture<'static, bool> {
        let adding = self.store.add_output(&self.place.lease, first as u64, items);
        Box::pin(async move {
            let added = adding.await;
            if let Err(error) = &added {
                tracing::warn!(%error, "items of a response can't be stored before its end");
            }
            added.is_ok()
        })
    }

    fn keep(self: Box<Self>, end: End) -> Keeping {
        Box::pin(async move {
            let Self { store, place } = *self;
            let status = end.status;
            let finished = store.finish(place.lease.clone(), end).await;
            place.leave();
            match finished {
                Ok(Finished::Now) => Kept::Here,
                Ok(Finished::Before(_)) | Err(StoreError::NotFound | StoreError::LeaseLost) => {
                    if status == Status::Cancelled { Kept::ByOthers } else { Kept::Late }
                }
                Err(error) => {
                    tracing::error!(%error, "the end of a response can't be stored");
                    Kept::Not
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use store::{Link, Options, Sqlite};

    use super::*;
    use crate::state::running::Running;

    fn end(status: Status) -> End {
        End { status, result: b"{}".to_vec(), output: Vec::new(), last: None }
    }

    /// What becomes of the end of a response to which `happens` something first.
    async fn kept<F: Future>(end: End, happens: impl FnOnce(Arc<dyn Store>, Lease) -> F) -> Kept {
        let store: Arc<dyn Store> = Arc::new(Sqlite::memory(&Options::default()).unwrap());
        let new = NewResponse { id: "r".to_owned(), link: Link::Alone, request: vec![], input: vec![] };
        let lease = store.create(&Owner::new("local"), new).await.unwrap();
        let place = Running::default().enter(lease.clone());
        happens(store.clone(), lease).await;
        Box::new(StoreKeeper { store, place }).keep(end).await
    }

    /// It was remembered as one whose end is still to be stored, for ever.
    #[tokio::test]
    async fn end_of_a_response_that_is_ended_or_gone_is_late() {
        let deleted = async |store: Arc<dyn Store>, lease: Lease| {
            store.delete(lease.owner(), lease.id()).await.unwrap();
        };
        let ended = async |store: Arc<dyn Store>, lease: Lease| {
            store.finish(lease, end(Status::Failed)).await.unwrap();
        };
        for (status, expected) in [(Status::Completed, Kept::Late), (Status::Cancelled, Kept::ByOthers)] {
            assert_eq!(kept(end(status), deleted).await, expected);
            assert_eq!(kept(end(status), ended).await, expected);
            assert_eq!(kept(end(status), async |_, _| ()).await, Kept::Here);
        }
    }
}
