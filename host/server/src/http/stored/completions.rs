//! Routes that read, list, change and delete stored chat completions.

use axum::Extension;
use axum::extract::{Request, State};
use store::{Completion, Order, StoredItem};

use crate::accept::access::ListenAddress;
use crate::accept::app::App;
use crate::http::answer::{Answered, json, to_json};
use crate::http::asker::Asker;
use crate::http::held_body::held_json;
use crate::http::path::{Named, named};
use crate::http::update::{self, Stored};
use crate::state::store_error::{refusal, store};
use api::chat::stored;
use api::deleted::Deletion;
use api::list;

/// `GET /v1/chat/completions`: a page of the stored completions.
pub(crate) async fn completions(
    State(app): State<App>,
    Extension(listen): Extension<ListenAddress>,
    asker: Asker,
) -> Answered {
    app.access.check_listing(listen)?;
    let tags = stored::listed_by(&asker.query, app.limits.request.metadata)?;
    let (store, page) = (store(&app)?, asker.page(&app, Order::Ascending)?);
    let read = |budget| store.completion_list(&asker.owner(), tags, page, budget);
    let (found, account) = asker.read(&app, read).await?;
    let items: Vec<StoredItem> = found.data.into_iter().map(stored::shown).collect();
    Ok(held_json(list::json(&items, found.more), account))
}

/// `GET /v1/chat/completions/{id}`.
pub(crate) async fn completion(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    let read = |budget| store.completion_get(&asker.owner(), &id, budget);
    let (completion, account) = asker.read(&app, read).await?;
    Ok(held_json(stored::shown(completion).body, account))
}

/// `POST /v1/chat/completions/{id}`: replaces the metadata.
pub(crate) async fn update_completion(
    State(app): State<App>,
    id: Named<String>,
    asker: Asker,
    request: Request,
) -> Answered {
    let change = async |Stored { store, owner, id }: Stored, metadata| {
        let (before, account) = asker.read(&app, |budget| store.completion_get(&owner, &id, budget)).await?;
        let tags = stored::retagged(&before, &metadata);
        store.completion_retag(&owner, &id, tags.clone()).await.map_err(refusal)?;
        Ok(held_json(stored::shown(Completion { tags, ..before }).body, account))
    };
    update::update(&app, id, &asker, request, stored::update, change).await
}

/// `DELETE /v1/chat/completions/{id}`.
pub(crate) async fn delete_completion(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    store.completion_delete(&asker.owner(), &id).await.map_err(refusal)?;
    Ok(json(200, to_json(&Deletion::of_completion(&id))))
}

/// `GET /v1/chat/completions/{id}/messages`: a page of the request's messages.
pub(crate) async fn completion_messages(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    let page = asker.page(&app, Order::Ascending)?;
    let read = |budget| store.completion_items(&asker.owner(), &id, page, budget);
    let (items, account) = asker.read(&app, read).await?;
    Ok(held_json(list::json(&items.data, items.more), account))
}
