//! `POST /v1/conversations`, and `GET`, `POST`, `DELETE` of one.

use axum::extract::{Request, State};
use axum::response::Response;

use super::super::answer::{answer, json, to_json, warn};
use super::super::app::App;
use super::super::body::check_json;
use super::super::store_error::{owner, refusal, store};
use super::items::settle;
use super::{Named, access, named};
use crate::api::conversations::{self, conversation, deleted};
use crate::api::error::ApiError;
use crate::api::ids::Ids;
use crate::api::{Defaults, Object};

/// Stores a conversation with its first items.
pub(in super::super) async fn create(State(app): State<App>, request: Request) -> Response {
    answer(created(&app, request).await)
}

async fn created(app: &App, request: Request) -> Result<Response, ApiError> {
    let owner = owner(request.extensions());
    let read = |body: &Object<'_>, defaults: &Defaults| conversations::create(body, defaults, &mut Ids::random());
    let (new, _account) = check_json(app, request).await?.read_without_model(app, read).await?;
    let store = store(app)?;
    let (items, warnings) = settle(&**store, &owner, new.items).await?;
    let id = Ids::random().next("conv_");
    let stored = store.conversation_create(&owner, &id, new.metadata, items).await.map_err(refusal)?;
    Ok(shown(&stored, &warnings))
}

/// Shows a conversation.
pub(in super::super) async fn get(State(app): State<App>, id: Named<String>, request: Request) -> Response {
    answer(gotten(&app, id, &request).await)
}

async fn gotten(app: &App, id: Named<String>, request: &Request) -> Result<Response, ApiError> {
    let ((store, owner), id) = (access(app, request)?, named(id)?);
    let stored = store.conversation_get(&owner, &id).await.map_err(refusal)?;
    Ok(shown(&stored, &[]))
}

/// Replaces a conversation's metadata.
pub(in super::super) async fn update(State(app): State<App>, id: Named<String>, request: Request) -> Response {
    answer(updated(&app, id, request).await)
}

async fn updated(app: &App, id: Named<String>, request: Request) -> Result<Response, ApiError> {
    let (owner, id) = (owner(request.extensions()), named(id)?);
    let body = check_json(app, request).await?;
    let store = store(app)?;
    let ((metadata, warnings), _account) = body.read_without_model(app, conversations::update).await?;
    let stored = store.conversation_update(&owner, &id, metadata).await.map_err(refusal)?;
    Ok(shown(&stored, &warnings))
}

/// Deletes a conversation.
pub(in super::super) async fn delete(State(app): State<App>, id: Named<String>, request: Request) -> Response {
    answer(removed(&app, id, &request).await)
}

async fn removed(app: &App, id: Named<String>, request: &Request) -> Result<Response, ApiError> {
    let ((store, owner), id) = (access(app, request)?, named(id)?);
    store.conversation_delete(&owner, &id).await.map_err(refusal)?;
    Ok(json(200, to_json(&deleted(&id))))
}

/// A conversation as clients get it.
pub(super) fn shown(stored: &store::Conversation, warnings: &[String]) -> Response {
    let mut response = json(200, to_json(&conversation(stored)));
    warn(&mut response, warnings);
    response
}
