//! Responses that run without a client: stored as queued, then claimed and run by a process that
//! has room, this one or another.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use store::{Budget, Claimed, Owner, Page, Response, Served, Store, StoredItem};

use crate::accept::acceptance::start;
use crate::accept::app::App;
use crate::accept::body::{self, COPIES, CheckedBody};
use crate::accept::caller::Caller;
use crate::answer::{Answer, Journal, StoreProgress, Unstored};
use crate::state::ending::{end, folded_log};
use crate::state::keeping::kept;
use crate::state::reads::paid;
use crate::state::request::StoredRequest;
use crate::state::store_error::refusal;
use accounts::Account;
use api::error::ApiError;
use api::limits::RequestLimits;
use api::responses::{Continuation, Ending, Queued, WholeInput};

/// Time between two looks for responses that other processes have queued, or that became free to
/// run.
const LOOK: Duration = Duration::from_secs(2);
/// Time between two attempts to run a response that the engine has no room for.
const RETRY: Duration = Duration::from_millis(500);

/// Claims queued responses and runs them, until the server stops.
pub(crate) async fn run_claimed(app: App) {
    let Some(store) = app.store.clone() else { return };
    let models = app.models.iter().flat_map(|model| model.names().to_vec()).collect();
    let served = Served { models, version: StoredRequest::VERSION };
    loop {
        tokio::select! {
            () = app.queued.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            () = app.stopping.cancelled() => return,
        }
        // The drain waits for what is being claimed.
        let hold = app.tasks.token();
        while !app.stopping.is_cancelled() {
            match store.claim(&served).await {
                Ok(Some(claimed)) => {
                    let run = run(app.clone(), Arc::clone(&store), claimed);
                    app.tasks.spawn(run);
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "queued responses can't be claimed now");
                    break;
                }
            }
        }
        drop(hold);
    }
}

/// Runs a claimed response to its end. If the server stops before the response has begun, it is
/// given back: it has sent nothing yet, so another process may run it.
async fn run(app: App, store: Arc<dyn Store>, claimed: Claimed) {
    let place = app.running.enter(claimed.lease.clone());
    let begun = tokio::select! {
        biased;
        () = place.withdrawn.cancelled() => Err(Ending::Cancelled),
        () = app.stopping.cancelled() => {
            if let Err(error) = store.release(claimed.lease).await {
                tracing::warn!(%error, "a queued response can't be given back: it waits for the end of its lease");
            }
            return place.leave();
        }
        begun = begin(&app, &store, &claimed) => begun,
    };
    match begun {
        Ok((mut answer, next)) => {
            let progress = place.progress.clone();
            let journal = Journal::new(Arc::clone(&store), claimed.lease.clone(), next, progress.clone());
            let _ = kept(&mut answer, &store, place);
            if let Err(Unstored { last, is_open }) = answer.run_stored(journal).await {
                let last = Arc::new(last);
                if is_open {
                    app.running.remember_unstored(claimed.lease, Arc::clone(&last));
                }
                // Who follows it reads the store first.
                progress.send_replace(StoreProgress::Unstored(last));
            }
        }
        Err(ending) => {
            end(&app.running, &store, claimed.lease, ending).await;
            place.leave();
        }
    }
    // Its owner may have others waiting.
    app.queued.notify_one();
}

/// Reads the stored request again, and starts its generation as soon as the engine has room.
async fn begin(
    app: &App,
    store: &Arc<dyn Store>,
    Claimed { lease, response }: &Claimed,
) -> Result<(Answer, u64), Ending> {
    let log = folded_log(store, lease.owner(), response, &Budget::default()).await;
    let log = log.map_err(|error| failed(refusal(error)))?;
    let next = log.map_or(0, |log| log.events());
    let caller = Caller::of_owner(lease.owner(), response.id.clone());
    loop {
        match attempt(app, store, &caller, lease.owner(), response, next).await {
            Ok(answer) => return Ok((answer, next)),
            Err(error) if matches!(error.status, 429 | 503) => tokio::time::sleep(RETRY).await,
            Err(error) => return Err(failed(error)),
        }
    }
}

async fn attempt(
    app: &App,
    store: &Arc<dyn Store>,
    caller: &Caller,
    owner: &Owner,
    response: &Response,
    events: u64,
) -> Result<Answer, ApiError> {
    let unreadable = || ApiError::internal("The stored request can't be read.");
    let request = StoredRequest::read(&response.request).map_err(|_| unreadable())?;
    let created_at = request.created_at();
    let body = request.body.ok_or_else(unreadable)?;
    let account = app.accounts.open(caller.principal.clone());
    let read = |budget| store.items(owner, &response.id, Page::whole(), budget);
    let (items, mut account) = paid(app, account, 1, read).await?;
    let whole = whole_input(&items.data, &mut account, &app.limits.request)?;
    drop(items);
    let continuation = Continuation {
        store: true,
        queued: Some(Queued { id: response.id.clone(), created_at, events }),
        ..Continuation::with(whole)
    };
    let body = CheckedBody::of_text(app, &caller.principal, Bytes::from(body.get().to_owned())).await?;
    let answer = start(app, caller, body, continuation).await;
    drop(account);
    answer
}

/// The input of a response that has waited: all of it is its own. The account, which has paid for
/// the items, pays for the text and for what reading copies of it.
fn whole_input(
    items: &[StoredItem],
    account: &mut Account,
    limits: &RequestLimits,
) -> Result<WholeInput, ApiError> {
    let mut hold =
        |bytes: usize, copies: usize| account.hold(bytes.saturating_mul(copies)).map_err(body::refusal);
    let (none, bytes): ([&[u8]; 0], _) = ([], items.iter().map(|item| item.body.len()).sum());
    hold(bytes, 1)?;
    let whole = WholeInput::new(none, items.iter().map(|item| &*item.body), bytes, limits)?;
    hold(whole.copied(), COPIES - 1)?;
    Ok(whole)
}

fn failed(error: ApiError) -> Ending {
    Ending::Failed(error.into_failure())
}
