//! Routes for operators, on an address of their own (`--admin-listen`): which parsers there are, and loading them again.
//!
//! They ask for the same keys as the other routes, and none of them is served on the main address.

use std::net::IpAddr;

use axum::Router;
use axum::extract::State;
use axum::response::Response;

use super::answer::json;
use super::routes::{get_only, health, layered, no_route, post_only, scrape, to_json};
use super::server::App;
use crate::model::LoadResult;

/// All routes, in the layers of the main address.
pub(super) fn router(app: App, listen: IpAddr) -> Router {
    let open = Router::new().route("/health", get_only(health));
    let keyed = Router::new()
        .route("/admin/parsers", get_only(parsers))
        .route("/admin/parsers/reload", post_only(reload))
        .route("/metrics", get_only(scrape))
        .fallback(no_route);
    layered(app, listen, open, keyed)
}

async fn parsers(State(app): State<App>) -> Response {
    json(200, to_json(&app.model.parsers()))
}

/// Answers once the load is over: 200 with the report, or 409 if something is wrong with a file and the old parser serves on.
async fn reload(State(app): State<App>) -> Response {
    let report = app.model.reload_parsers("admin").await;
    let status = if report.last_load.result == LoadResult::Failed { 409 } else { 200 };
    json(status, to_json(&report))
}
