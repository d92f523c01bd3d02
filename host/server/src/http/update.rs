//! Change of what is stored under an id: the frame that its handlers share.

use std::sync::Arc;

use axum::extract::Request;
use store::{Owner, Store};

use crate::accept::app::App;
use crate::accept::body::check_json;
use crate::http::answer::{Answered, warn};
use crate::http::asker::Asker;
use crate::http::path::{Named, named};
use crate::state::store_error::store;
use api::error::ApiError;
use api::{Defaults, JsonObject};

/// Reader of a body that says a change, with warnings of what it ignores.
type ReadChange<T> = fn(&JsonObject<'_>, &Defaults) -> Result<(T, Vec<String>), ApiError>;

/// What a change is made to: whose, and under which id.
pub(crate) struct Stored {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) owner: Owner,
    pub(crate) id: String,
}

/// Reads a change, and has it made and shown.
pub(crate) async fn update<T, F>(
    app: &App,
    id: Named<String>,
    asker: &Asker,
    request: Request,
    read: ReadChange<T>,
    change: impl FnOnce(Stored, T) -> F,
) -> Answered
where
    T: Send + 'static,
    F: Future<Output = Answered>,
{
    let id = named(id)?;
    let body = check_json(app, request).await?;
    let stored = Stored { store: Arc::clone(store(app)?), owner: asker.owner(), id };
    let ((new, warnings), _account) = body.read_without_model(app, read).await?;
    let mut response = change(stored, new).await?;
    warn(&mut response, &warnings);
    Ok(response)
}
