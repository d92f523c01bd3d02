//! Handlers for one method, whose other methods get 405; and what is said of paths that there are
//! not, and while the server drains.

use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use http::{Method, Uri};

use crate::accept::app::App;
use crate::http::answer::refuse;
use api::error::ApiError;

/// Message while streams that have begun get their time to end.
pub(crate) const DRAINING: &str =
    "The server is draining: it ends the answers that it has begun and takes no new requests.";

/// Handler for `GET`; other methods get 405.
pub(crate) fn get_only<H: Handler<T, App>, T: 'static>(handler: H) -> MethodRouter<App> {
    get(handler)
        .fallback(async |method: Method| refuse(&ApiError::method_not_allowed(method.as_str(), "GET")))
}

/// Handler for `POST`; other methods get 405.
pub(crate) fn post_only<H: Handler<T, App>, T: 'static>(handler: H) -> MethodRouter<App> {
    post(handler)
        .fallback(async |method: Method| refuse(&ApiError::method_not_allowed(method.as_str(), "POST")))
}

/// 404 for a path that isn't there.
pub(crate) async fn no_route(method: Method, uri: Uri) -> Response {
    refuse(&ApiError::not_found(method.as_str(), uri.path()))
}
