//! Change of what is stored under an id: the frame that its handlers share.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use store::{Owner, Store};

use super::answer::{answer, warn};
use super::app::App;
use super::asker::Asker;
use super::body::check_json;
use super::path::{Named, named};
use super::store_error::{refusal, store};
use api::error::ApiError;
use api::{Defaults, Object};

/// Reader of a body that says a change, with warnings of what it ignores.
type ReadChange<T> = fn(&Object<'_>, &Defaults) -> Result<(T, Vec<String>), ApiError>;

/// What a change is made to: whose, and under which id.
pub(super) struct Stored {
    pub(super) store: Arc<dyn Store>,
    pub(super) owner: Owner,
    pub(super) id: String,
}

/// Reads a change, makes it, and shows what is stored then.
pub(super) async fn update<T, S, F>(
    app: &App,
    id: Named<String>,
    asker: &Asker,
    request: Request,
    read: ReadChange<T>,
    change: impl FnOnce(Stored, T) -> F,
    show: impl FnOnce(S) -> Result<Response, ApiError>,
) -> Response
where
    T: Send + 'static,
    F: Future<Output = store::Result<S>>,
{
    let changed = async {
        let id = named(id)?;
        let body = check_json(app, request).await?;
        let stored = Stored { store: Arc::clone(store(app)?), owner: asker.owner(), id };
        let ((new, warnings), _account) = body.read_without_model(app, read).await?;
        let _turn = asker.turn(app).await?;
        let mut response = show(change(stored, new).await.map_err(refusal)?)?;
        warn(&mut response, &warnings);
        Ok(response)
    };
    answer(changed.await)
}
