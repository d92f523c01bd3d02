//! Routes of stored responses: read one, follow its events, cancel it, delete it, list its input.

use std::time::Duration;

use axum::extract::State;
use store::{Events, Order, State as ResponseState};
use tokio::time::timeout;

use crate::accept::app::App;
use crate::http::answer::{Answered, json, to_json};
use crate::http::asker::Asker;
use crate::http::held_body::held_json;
use crate::http::path::{Named, named};
use crate::http::stored::follow::{Followed, follow};
use crate::state::request::{StoredRequest, Unreadable};
use crate::state::store_error::{refusal, store};
use crate::state::{ending, exchange};
use accounts::Account;
use api::deleted::Deletion;
use api::error::ApiError;
use api::list;
use api::responses::end_reasoning;
use api::responses::stored::{self, WantedEvents};

/// How long a cancelled response that runs here may take to end before it is ended from outside.
const ENDING: Duration = Duration::from_secs(10);

/// `GET /v1/responses/{id}`: the response, or its events.
pub(crate) async fn one(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    if !stored::events_are_asked_for(&asker.query)? {
        let (response, account) = read_with_output(&app, &asker, &id).await?;
        return show(&response, account);
    }
    let (response, _account) = read(&app, &asker, &id).await?;
    if !response.background {
        let what = "stream: only a response that was created with `background: true` has stored events: read it without `stream`";
        return Err(ApiError::invalid("stream".to_owned(), what).with_code("invalid_value").into());
    }
    let WantedEvents { after, are_padded } = WantedEvents::of(&asker.query)?;
    let events = store.events_after(&asker.owner(), &id, after).await.map_err(refusal)?;
    if matches!(events, Events::Expired | Events::Unlogged) {
        let what = "stream: the events of this response are no longer stored: read it without `stream`";
        return Err(ApiError::invalid("stream".to_owned(), what).with_code("events_expired").into());
    }
    let request = StoredRequest::read(&response.request).map_err(unreadable)?;
    let followed = Followed { owner: asker.owner(), id, object: request.object.get().into() };
    Ok(follow(&app, followed, after, are_padded, asker.names, asker.disconnect.clone()))
}

/// Reads a response, with the account that has paid for it before.
async fn read(app: &App, asker: &Asker, id: &str) -> Result<(store::Response, Account), ApiError> {
    let store = store(app)?;
    asker.read(app, |budget| store.response(&asker.owner(), id, budget)).await
}

/// Reads a response with the output so far of one that runs.
async fn read_with_output(
    app: &App,
    asker: &Asker,
    id: &str,
) -> Result<(store::Response, Account), ApiError> {
    let (store, owner) = (store(app)?, asker.owner());
    let read = |budget| ending::with_output(&app.running, &app.accounts, store, &owner, id, budget);
    asker.read(app, read).await
}

/// The response as it is.
fn show(response: &store::Response, account: Account) -> Answered {
    Ok(held_json(object(response)?, account))
}

fn object(response: &store::Response) -> Result<Vec<u8>, ApiError> {
    let begun = || StoredRequest::read(&response.request).map_err(unreadable);
    Ok(match &response.state {
        ResponseState::Ended(outcome) => stored::whole(&outcome.result, &outcome.output),
        ResponseState::Running(output) => stored::under_way(begun()?.object.get(), output),
        ResponseState::Queued => begun()?.object.get().as_bytes().to_vec(),
    })
}

/// `DELETE /v1/responses/{id}`: a response that runs is stopped.
pub(crate) async fn delete(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    store.delete(&asker.owner(), &id).await.map_err(refusal)?;
    if let Some(handle) = app.running.find(&asker.owner(), &id) {
        handle.withdrawn.cancel();
        app.running.forget_unstored(&id);
    }
    Ok(json(200, to_json(&Deletion::of_response(&id))))
}

/// `POST /v1/responses/{id}/cancel`: the response as it ended, by this or before.
pub(crate) async fn cancel(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (id, owner) = (named(id)?, asker.owner());
    if let Some(handle) = app.running.find(&owner, &id) {
        let (response, _account) = read(&app, &asker, &id).await?;
        check_background(&response)?;
        handle.withdrawn.cancel();
        // One that doesn't end in time is ended below.
        let _ = timeout(ENDING, handle.ended()).await;
    }
    let (mut response, mut account) = read(&app, &asker, &id).await?;
    check_background(&response)?;
    if !matches!(response.state, ResponseState::Ended(_)) {
        let request = StoredRequest::read(&response.request).map_err(unreadable)?;
        let ended = ending::cancel(&app.running, store(&app)?, &owner, &response, request.object.get());
        ended.await.map_err(refusal)?;
        drop((request, response, account));
        (response, account) = read(&app, &asker, &id).await?;
    }
    show(&response, account)
}

/// `POST /v1/responses/{id}/end_reasoning`: the response as it is, whose reasoning ends with its next
/// step.
pub(crate) async fn end_reasoning(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let id = named(id)?;
    let stopped = exchange::end_reasoning(&app, &**store(&app)?, &asker.owner(), &id).await?;
    let (mut response, account) = read_with_output(&app, &asker, &id).await?;
    stopped.map_err(end_reasoning::refusal)?;
    if response.state == ResponseState::Queued {
        // Its first events aren't stored yet.
        response.state = ResponseState::Running(Vec::new());
    }
    show(&response, account)
}

fn unreadable(_: Unreadable) -> ApiError {
    ApiError::internal("The stored response can't be read.")
}

fn check_background(response: &store::Response) -> Result<(), ApiError> {
    if response.background {
        return Ok(());
    }
    let what = "Only a response that was created with `background: true` can be cancelled: close the connection of another one.";
    Err(ApiError::invalid(None, what).with_code("invalid_value"))
}

/// `GET /v1/responses/{id}/input_items`: a page of the input, with what the response continues.
pub(crate) async fn input_items(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    let page = asker.page(&app, Order::Descending)?;
    let (items, account) = asker.read(&app, |budget| store.items(&asker.owner(), &id, page, budget)).await?;
    Ok(held_json(list::json(&items.data, items.more), account))
}
