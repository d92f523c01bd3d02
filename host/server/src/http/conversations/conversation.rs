//! `POST /v1/conversations`, and `GET`, `POST`, `DELETE` of one.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::accept::app::App;
use crate::accept::body::check_json;
use crate::http::answer::{Answered, json, to_json, warn};
use crate::http::asker::Asker;
use crate::http::conversations::settle::settle;
use crate::http::path::{Named, named};
use crate::http::update::{self, Stored};
use crate::state::store_error::{refusal, store};
use api::conversations::{self, conversation};
use api::deleted::Deletion;
use api::ids::Ids;
use api::{Defaults, JsonObject};

/// Stores a conversation with its first items.
pub(crate) async fn create(State(app): State<App>, asker: Asker, request: Request) -> Answered {
    let read = |body: &JsonObject<'_>, defaults: &Defaults| {
        conversations::create(body, defaults, &mut Ids::random())
    };
    let (new, account) = check_json(&app, request).await?.read_without_model(&app, read).await?;
    let store = store(&app)?;
    let (items, warnings, _account) = settle(&app, &asker.owner(), new.items, account).await?;
    let id = Ids::random().next("conv_");
    let stored =
        store.conversation_create(&asker.owner(), &id, new.metadata, items).await.map_err(refusal)?;
    Ok(shown(&stored, &warnings))
}

/// Shows a conversation.
pub(crate) async fn get(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    let read = |budget| store.conversation_get(&asker.owner(), &id, budget);
    let (stored, _account) = asker.read(&app, read).await?;
    Ok(shown(&stored, &[]))
}

/// Replaces a conversation's metadata.
pub(crate) async fn update(
    State(app): State<App>,
    id: Named<String>,
    asker: Asker,
    request: Request,
) -> Answered {
    let change = async |Stored { store, owner, id }: Stored, metadata| {
        let stored = store.conversation_update(&owner, &id, metadata).await.map_err(refusal)?;
        Ok(shown(&stored, &[]))
    };
    update::update(&app, id, &asker, request, conversations::update, change).await
}

/// Deletes a conversation.
pub(crate) async fn delete(State(app): State<App>, id: Named<String>, asker: Asker) -> Answered {
    let (store, id) = (store(&app)?, named(id)?);
    store.conversation_delete(&asker.owner(), &id).await.map_err(refusal)?;
    Ok(json(200, to_json(&Deletion::of_conversation(&id))))
}

/// A conversation as clients get it.
pub(crate) fn shown(stored: &store::StoredConversation, warnings: &[String]) -> Response {
    let mut response = json(200, to_json(&conversation(stored)));
    warn(&mut response, warnings);
    response
}
