//! Ends of responses that aren't run, or not any more.

use std::sync::Arc;

use store::{Budget, End, Events, Lease, Owner, Response, State, Status, Store, StoreError};

use crate::state::request::{StoredRequest, Unreadable};
use crate::state::running::Running;
use accounts::Accounts;
use api::responses::{Ending, FoldedLog};

/// Ends a response that isn't run, or not any more. Its events are folded piece by piece. Where its
/// end can't be stored, who follows it is told the end all the same.
pub(crate) async fn end(running: &Running, store: &Arc<dyn Store>, lease: Lease, ending: Ending) {
    let unreadable = |unreadable: Unreadable| StoreError::Unavailable(unreadable.to_string());
    let ended = async {
        let response = match store.response(lease.owner(), lease.id(), Budget::default()).await {
            // Of a chat completion or a turn that didn't end well, nothing stays.
            Err(StoreError::NotFound) => return store.finish(lease.clone(), nothing()).await,
            response => response?,
        };
        let request = StoredRequest::read(&response.request).map_err(unreadable)?;
        let log = folded_log(store, lease.owner(), &response, &Budget::default()).await?;
        let end = ending.end(request.object.get(), log);
        let last = end.last.clone().map(Arc::new);
        let stored = store.finish(lease.clone(), end).await;
        if let (Err(StoreError::Unavailable(_)), Some(last)) = (&stored, last) {
            running.remember_unstored(lease.clone(), last);
        }
        stored
    };
    match ended.await {
        Ok(_) | Err(StoreError::NotFound) => running.forget_unstored(lease.id()),
        Err(error) => tracing::warn!(%error, "a lost response can't be ended now"),
    }
}

fn nothing() -> End {
    End { status: Status::Cancelled, result: Vec::new(), output: Vec::new(), last: None }
}

/// Ends a response that doesn't run here as cancelled, if it hasn't ended; `object` is the one that it
/// began with. Whoever runs it writes nothing from the beginning of this on, so its log grows no more.
pub(crate) async fn cancel(
    running: &Running,
    store: &Arc<dyn Store>,
    owner: &Owner,
    response: &Response,
    object: &str,
) -> store::Result<()> {
    while let Some(lease) = store.fence(owner, &response.id).await? {
        let log = folded_log(store, owner, response, &Budget::default()).await?;
        let end = Ending::Cancelled.end(object, log);
        // Where another one has taken the lease meanwhile, it may have written.
        if is_ended(store.finish(lease, end).await)? {
            break;
        }
    }
    running.forget_unstored(&response.id);
    Ok(())
}

/// Whether the response has ended; it hasn't if another one has the lease.
fn is_ended(finished: store::Result<store::Finished>) -> store::Result<bool> {
    match finished {
        Ok(_) => Ok(true),
        Err(StoreError::LeaseLost) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A response, with the items so far of one that runs: of a background one those that are open as
/// well, since its events are stored. Of one that runs here the events are added up once, however
/// often it is read.
pub(crate) async fn with_output(
    running: &Running,
    accounts: &Accounts,
    store: &Arc<dyn Store>,
    owner: &Owner,
    id: &str,
    budget: Budget,
) -> store::Result<Response> {
    let mut response = store.response(owner, id, budget.clone()).await?;
    if response.background && matches!(response.state, State::Running(_)) {
        let output = if let Some(handle) = running.find(owner, id) {
            let mut so_far = handle.so_far.lock().await;
            budget.pay(so_far.log.bytes())?;
            let is_there = add_events(&mut so_far.log, store, owner, id, &budget).await?;
            let output = is_there.then(|| budget.run(|| so_far.log.output()));
            so_far.hold(accounts, owner);
            output
        } else {
            let log = folded_log(store, owner, &response, &budget).await?;
            log.map(|log| budget.run(|| log.output()))
        };
        response.state = State::Running(output.unwrap_or_default());
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
    Ok(add_events(&mut log, store, owner, &response.id, budget).await?.then_some(log))
}

/// Adds the events of a response behind those that `log` has. Returns whether it has a log.
async fn add_events(
    log: &mut FoldedLog,
    store: &Arc<dyn Store>,
    owner: &Owner,
    id: &str,
    budget: &Budget,
) -> store::Result<bool> {
    loop {
        let after = log.events().checked_sub(1);
        match store.events_after(owner, id, after).await? {
            Events::Log { chunk, end, .. } => {
                let before = log.bytes();
                budget.run(|| log.add(&chunk.events));
                budget.pay(log.bytes() - before)?;
                if end || chunk.events.is_empty() {
                    return Ok(true);
                }
            }
            Events::Expired | Events::Unlogged => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use accounts::AccountLimits;
    use serde_json::{Value, json};
    use store::{Chunk, Link, Needs, NewResponse, Options, Payer, Served, Sqlite};

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
                end(&running, &store, lease, Ending::Lost).await;
            } else {
                assert_eq!(cancel(&running, &store, &owner, &response, OBJECT).await, Ok(()));
            }
            assert!(running.find(&owner, "r").is_none());
        }
    }

    /// Counts pieces of work.
    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Payer for Counting {
        fn pay(&self, _: u64) -> bool {
            true
        }

        fn run(&self, work: Box<dyn FnOnce() + '_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            work();
        }
    }

    /// A background response that runs, whose message grows by 200 deltas at each call.
    struct Growing {
        store: Arc<dyn Store>,
        lease: Lease,
        events: u64,
    }

    impl Growing {
        async fn new() -> Self {
            let store: Arc<dyn Store> = Arc::new(Sqlite::memory(&Options::default()).unwrap());
            let request = StoredRequest::write(OBJECT.into(), None);
            let new = NewResponse { id: "r".to_owned(), link: Link::Alone, request, input: vec![] };
            let item =
                json!({ "id": "m", "type": "message", "content": [{ "type": "output_text", "text": "" }] });
            let added = json!({ "type": "response.output_item.added", "output_index": 0, "item": item });
            let needs = Needs { model: "m".to_owned(), version: 1 };
            let served = Served { models: vec!["m".to_owned()], version: 1 };
            store
                .enqueue(&Owner::new("ada"), &needs, new, vec![added.to_string().into_bytes()])
                .await
                .unwrap();
            let lease = store.claim(&served).await.unwrap().unwrap().lease;
            Self { store, lease, events: 1 }
        }

        async fn grow(&mut self) {
            let delta =
                json!({ "type": "response.output_text.delta", "output_index": 0, "delta": "x".repeat(1000) });
            let events = vec![delta.to_string().into_bytes(); 200];
            self.store.append(&self.lease, Chunk { first: self.events, events }).await.unwrap();
            self.events += 200;
        }

        /// Length of the text so far, and how many pieces of work its read was.
        async fn read(&self, running: &Running, accounts: &Accounts) -> (usize, usize) {
            let work = Arc::new(Counting::default());
            let budget = Budget::of(work.clone());
            let read =
                with_output(running, accounts, &self.store, self.lease.owner(), "r", budget).await.unwrap();
            let State::Running(output) = read.state else { panic!("it runs") };
            let item: Value = serde_json::from_slice(&output[0].body).unwrap();
            let text = item["content"][0]["text"].as_str().unwrap().len();
            (text, work.0.load(Ordering::Relaxed))
        }
    }

    /// Each read added all of them up again.
    #[tokio::test]
    async fn events_of_a_running_response_are_added_up_once_for_all_who_read_it() {
        let (running, accounts) = (Running::default(), Accounts::new(&AccountLimits::default(), 1));
        let mut response = Growing::new().await;
        let place = running.enter(response.lease.clone());
        let mut work = Vec::new();
        for round in 1..=8 {
            response.grow().await;
            work.push(response.read(&running, &accounts).await.1);
            let (text, again) = response.read(&running, &accounts).await;
            assert_eq!(text, round * 200_000);
            // Nothing is new: the response, no events, and the output.
            assert_eq!(again, 3);
        }
        assert!(work.iter().all(|first| first == &work[0]), "{work:?}");
        assert!(accounts.memory_held() > 8 * 200_000, "what is kept is held by its owner's account");
        place.leave();
        assert_eq!(accounts.memory_held(), 0);
        // Whoever doesn't run it adds them up from the beginning.
        assert!(response.read(&running, &accounts).await.1 > work[0]);
    }

    #[tokio::test]
    async fn events_are_not_kept_added_up_where_nobody_can_pay_for_them() {
        let limits = AccountLimits { memory: 100_000, ..AccountLimits::default() };
        let (running, accounts) = (Running::default(), Accounts::new(&limits, 1));
        let mut response = Growing::new().await;
        let _place = running.enter(response.lease.clone());
        response.grow().await;
        for _ in 0..2 {
            assert_eq!(response.read(&running, &accounts).await.0, 200_000);
            assert_eq!(accounts.memory_held(), 0);
        }
    }
}
