//! Stored chat completions: kept as their answers end, and the routes that read, list, change and
//! delete them.

use axum::extract::{Request, State};
use axum::response::Response;
use store::{Item, Order, Owner};
use tokio_util::sync::CancellationToken;

use super::super::answer::{answer, json, to_json};
use super::super::app::App;
use super::super::asker::Asker;
use super::super::held_body::held_json;
use super::super::path::{Named, named};
use super::super::store_error::{refusal, store};
use super::super::update::{self, Stored};
use super::keeping::{entered, kept};
use crate::answer::Answer;
use api::chat::stored;
use api::deleted::Deletion;
use api::error::ApiError;
use api::list;

/// Stores a completion whose answer is about to begin, and has its end stored. Returns the answer's
/// end from outside.
///
/// # Errors
/// The store's. Nothing is stored then.
pub(in crate::http) async fn keep_completion(
    app: &App,
    owner: &Owner,
    answer: &mut Answer,
    wish: stored::Wish,
) -> Result<CancellationToken, ApiError> {
    let store = store(app)?;
    let record = answer.record().expect("completions have records");
    let place = entered(app, store.completion_create(owner, wish.completion(record.id))).await?;
    Ok(kept(app, answer, store, place))
}

/// `GET /v1/chat/completions`: a page of the stored completions.
pub(in crate::http) async fn completions(State(app): State<App>, asker: Asker) -> Response {
    answer(listed(&app, &asker).await)
}

async fn listed(app: &App, asker: &Asker) -> Result<Response, ApiError> {
    let tags = stored::listed_by(&asker.query, app.limits.metadata)?;
    let (store, page) = (store(app)?, asker.page(app, Order::Ascending)?);
    let read = |budget| store.completion_list(&asker.owner(), tags, page, budget);
    let (found, account) = asker.read(app, read).await?;
    let items: Vec<Item> = found.data.into_iter().map(stored::shown).collect();
    Ok(held_json(list::json(&items, found.more), account))
}

/// `GET /v1/chat/completions/{id}`.
pub(in crate::http) async fn completion(State(app): State<App>, id: Named<String>, asker: Asker) -> Response {
    answer(found(&app, id, &asker).await)
}

async fn found(app: &App, id: Named<String>, asker: &Asker) -> Result<Response, ApiError> {
    let (store, id) = (store(app)?, named(id)?);
    let _turn = asker.turn(app).await?;
    let completion = store.completion_get(&asker.owner(), &id).await.map_err(refusal)?;
    held(app, asker, completion)
}

/// `POST /v1/chat/completions/{id}`: replaces the metadata.
pub(in crate::http) async fn update_completion(
    State(app): State<App>,
    id: Named<String>,
    asker: Asker,
    request: Request,
) -> Response {
    let change = async |Stored { store, owner, id }: Stored, metadata| {
        let before = store.completion_get(&owner, &id).await?;
        store.completion_retag(&owner, &id, stored::retagged(&before, &metadata)).await
    };
    update::update(&app, id, &asker, request, stored::update, change, |completion| {
        held(&app, &asker, completion)
    })
    .await
}

/// `DELETE /v1/chat/completions/{id}`.
pub(in crate::http) async fn delete_completion(
    State(app): State<App>,
    id: Named<String>,
    asker: Asker,
) -> Response {
    answer(forget(&app, id, &asker).await)
}

async fn forget(app: &App, id: Named<String>, asker: &Asker) -> Result<Response, ApiError> {
    let (store, id) = (store(app)?, named(id)?);
    store.completion_delete(&asker.owner(), &id).await.map_err(refusal)?;
    Ok(json(200, to_json(&Deletion::of_completion(&id))))
}

/// `GET /v1/chat/completions/{id}/messages`: a page of the request's messages.
pub(in crate::http) async fn completion_messages(
    State(app): State<App>,
    id: Named<String>,
    asker: Asker,
) -> Response {
    answer(messages(&app, id, &asker).await)
}

async fn messages(app: &App, id: Named<String>, asker: &Asker) -> Result<Response, ApiError> {
    let (store, id) = (store(app)?, named(id)?);
    let page = asker.page(app, Order::Ascending)?;
    let read = |budget| store.completion_items(&asker.owner(), &id, page, budget);
    let (items, account) = asker.read(app, read).await?;
    Ok(held_json(list::json(&items.data, items.more), account))
}

fn held(app: &App, asker: &Asker, completion: store::Completion) -> Result<Response, ApiError> {
    let Item { body, .. } = stored::shown(completion);
    let account = asker.pay(app, body.len())?;
    Ok(held_json(body, account))
}
