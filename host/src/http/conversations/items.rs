//! `POST` and `GET` of a conversation's items, `GET` and `DELETE` of one.

use axum::extract::{Request, State};
use axum::response::Response;
use store::{Error, Item, Order, Owner, Store};

use super::super::answer::{answer, warn};
use super::super::app::App;
use super::super::body::{self, check_json};
use super::super::held_body::held_json;
use super::super::store_error::{owner, refusal, store};
use super::conversation::shown;
use super::{Named, access, named};
use crate::accounts::{Account, Principal};
use crate::api::conversations::{self, NewItems};
use crate::api::error::ApiError;
use crate::api::ids::Ids;
use crate::api::{Defaults, Object};
use crate::api::list;
use crate::api::query::Query;
use crate::api::responses::own_items::OwnItem;

/// Copies of an answer's items that are in memory while the answer is made.
const COPIES: usize = 2;

/// Items as they are stored: copies in place of references. A reference to what isn't stored is left out, with a warning.
pub(super) async fn settle(
    store: &dyn Store,
    owner: &Owner,
    new: NewItems,
) -> Result<(Vec<Item>, Vec<String>), ApiError> {
    let NewItems { items: given, mut warnings } = new;
    let mut items = Vec::with_capacity(given.len());
    for item in given {
        match item {
            OwnItem::Whole(item) => items.push(item),
            OwnItem::Reference(id) => match store.item(owner, &id).await {
                Ok(item) => items.push(item),
                Err(Error::NotFound) => warnings.push("item_reference to an unknown item left out".to_owned()),
                Err(error) => return Err(refusal(error)),
            },
        }
    }
    Ok((items, warnings))
}

/// Adds items, and shows them as a list.
pub(in super::super) async fn add(State(app): State<App>, id: Named<String>, request: Request) -> Response {
    answer(added(&app, id, request).await)
}

async fn added(app: &App, id: Named<String>, request: Request) -> Result<Response, ApiError> {
    let (owner, id) = (owner(request.extensions()), named(id)?);
    let read = |body: &Object<'_>, defaults: &Defaults| conversations::add(body, defaults, &mut Ids::random());
    let (new, account) = check_json(app, request).await?.read_without_model(app, read).await?;
    let store = store(app)?;
    let (items, warnings) = settle(&**store, &owner, new).await?;
    let list = list::json(&items, false);
    store.conversation_append(&owner, &id, items).await.map_err(refusal)?;
    let mut response = held_json(list, account);
    warn(&mut response, &warnings);
    Ok(response)
}

/// A page of items.
pub(in super::super) async fn list(State(app): State<App>, id: Named<String>, request: Request) -> Response {
    answer(listed(&app, id, &request).await)
}

async fn listed(app: &App, id: Named<String>, request: &Request) -> Result<Response, ApiError> {
    let ((store, owner), id) = (access(app, request)?, named(id)?);
    let page = Query::new(request.uri().query().unwrap_or_default()).page(Order::Descending)?;
    let items = store.conversation_items(&owner, &id, page).await.map_err(refusal)?;
    let account = pay(app, request, items.data.iter().map(|item| item.body.len()).sum())?;
    Ok(held_json(list::json(&items.data, items.more), account))
}

/// One item.
pub(in super::super) async fn item(
    State(app): State<App>,
    ids: Named<(String, String)>,
    request: Request,
) -> Response {
    answer(found(&app, ids, &request).await)
}

async fn found(app: &App, ids: Named<(String, String)>, request: &Request) -> Result<Response, ApiError> {
    let ((store, owner), (id, item)) = (access(app, request)?, named(ids)?);
    let item = store.conversation_item(&owner, &id, &item).await.map_err(refusal)?;
    let account = pay(app, request, item.body.len())?;
    Ok(held_json(item.body, account))
}

/// Removes an item, and shows its conversation.
pub(in super::super) async fn remove(
    State(app): State<App>,
    ids: Named<(String, String)>,
    request: Request,
) -> Response {
    answer(removed(&app, ids, &request).await)
}

async fn removed(app: &App, ids: Named<(String, String)>, request: &Request) -> Result<Response, ApiError> {
    let ((store, owner), (id, item)) = (access(app, request)?, named(ids)?);
    let stored = store.conversation_remove(&owner, &id, &item).await.map_err(refusal)?;
    Ok(shown(&stored, &[]))
}

/// An account that pays for an answer of `bytes`.
fn pay(app: &App, request: &Request, bytes: usize) -> Result<Account, ApiError> {
    let principal = request.extensions().get::<Principal>().cloned().unwrap_or_default();
    let mut account = app.accounts.open(principal);
    account.hold(bytes.saturating_mul(COPIES)).map_err(body::refusal)?;
    Ok(account)
}
