//! `POST` and `GET` of a conversation's items, `GET` and `DELETE` of one.

use axum::extract::{Request, State};
use store::Order;

use crate::accept::app::App;
use crate::accept::body::check_json;
use crate::http::answer::{Answered, warn};
use crate::http::asker::Asker;
use crate::http::conversations::conversation::shown;
use crate::http::conversations::settle::settle;
use crate::http::held_body::held_json;
use crate::http::path::{Named, named};
use crate::state::store_error::{refusal, store};
use api::conversations;
use api::ids::Ids;
use api::list;
use api::{Defaults, JsonObject};

/// Adds items, and shows them as a list.
pub(crate) async fn add(
    State(app): State<App>,
    id: Named<String>,
    asker: Asker,
    request: Request,
) -> Answered {
    let id = named(id)?;
    let read =
        |body: &JsonObject<'_>, defaults: &Defaults| conversations::add(body, defaults, &mut Ids::random());
    let (new, account) = check_json(&app, request).await?.read_without_model(&app, read).await?;
    let store = store(&app)?;
    let (items, warnings, account) = settle(&app, &asker.owner(), new, account).await?;
    let list = list::json(&items, false);
    store.conversation_append(&asker.owner(), &id, items).await.map_err(refusal)?;
    let mut response = held_json(list, account);
    warn(&mut response, &warnings);
    Ok(response)
}

/// A page of items.
pub(crate) async fn list(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    let page = asker.page(&app, Order::Descending)?;
    let read = |budget| store.conversation_items(&asker.owner(), &id, page, budget);
    let (items, account) = asker.read(&app, read).await?;
    Ok(held_json(list::json(&items.data, items.more), account))
}

/// One item.
pub(crate) async fn item(State(app): State<App>, ids: Named<(String, String)>, asker: Asker) -> Answered {
    let (store, (id, item)) = (store(&app)?, named(ids)?);
    let read = |budget| store.conversation_item(&asker.owner(), &id, &item, budget);
    let (item, account) = asker.read(&app, read).await?;
    Ok(held_json(item.body, account))
}

/// Removes an item, and shows its conversation.
pub(crate) async fn remove(State(app): State<App>, ids: Named<(String, String)>, asker: Asker) -> Answered {
    let (store, (id, item)) = (store(&app)?, named(ids)?);
    let stored = store.conversation_remove(&asker.owner(), &id, &item).await.map_err(refusal)?;
    Ok(shown(&stored, &[]))
}
