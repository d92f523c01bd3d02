//! Routes that say what the server is and how it is: version, routes, models, metrics.

use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::accept::app::App;
use crate::http::answer::{json, refuse, to_json, typed};
use crate::http::metrics;
use api::error::ApiError;
use api::{models, openapi};

/// What is there: a person or a program that finds the address sees what it speaks.
pub(crate) async fn index() -> Response {
    let routes: Vec<String> =
        openapi::paths().map(|(method, path)| format!("{} {path}", method.to_uppercase())).collect();
    let index =
        serde_json::json!({ "name": "sluice", "version": env!("CARGO_PKG_VERSION"), "routes": routes });
    json(200, to_json(&index))
}

/// The version.
pub(crate) async fn version() -> Response {
    json(200, concat!(r#"{"version":""#, env!("CARGO_PKG_VERSION"), r#""}"#).to_owned())
}

/// The served models.
pub(crate) async fn list_models(State(app): State<App>) -> Response {
    let mut list = Vec::new();
    for model in &app.models {
        let (created, context) = (model.created(), model.context());
        list.extend(model.names().iter().map(|name| models::Model::new(name, created, context)));
    }
    json(200, to_json(&models::ModelList::new(list)))
}

/// One of them.
pub(crate) async fn one_model(State(app): State<App>, id: Result<Path<String>, PathRejection>) -> Response {
    let Ok(Path(id)) = id else { return refuse(&ApiError::unreadable_path()) };
    match app.models.find(&id) {
        Some(model) => json(200, to_json(&models::Model::new(id, model.created(), model.context()))),
        None => refuse(&app.model_not_found(&id)),
    }
}

/// Figures for Prometheus.
pub(crate) async fn scrape(State(app): State<App>) -> Response {
    let sizes = [
        ("sluice_request_memory_bytes", app.accounts.memory_held()),
        ("sluice_grammar_bytes", app.models.first().grammar_bytes()),
    ];
    for (name, bytes) in sizes {
        #[expect(clippy::cast_precision_loss, reason = "metrics are f64; sizes below 2^53 are exact")]
        ::metrics::gauge!(name).set(bytes as f64);
    }
    typed(200, "text/plain; version=0.0.4", Body::from(metrics::render(&app.models)))
}
