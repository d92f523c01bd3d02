//! Routes that say what the server is and how it is: version, routes, models, metrics.

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, header};
use serde_json::Value;

use crate::accept::app::App;
use crate::http::answer::{is_anthropics, json, refuse, to_json, typed};
use crate::http::asker::Asker;
use crate::http::metrics;
use crate::page::InspectorLink;
use crate::server_metrics::{GRAMMAR_MEMORY, REQUEST_MEMORY};
use crate::state::read_places::PLACES;
use api::catalog::CatalogEntry;
use api::error::ApiError;
use api::{messages, models, openapi};
use mcp::{McpServer, McpServers};

/// What is there: a program that finds the address sees what it speaks, and the page what it can
/// offer.
pub(crate) async fn index(
    State(app): State<App>,
    Extension(inspector): Extension<Option<InspectorLink>>,
    headers: HeaderMap,
) -> Response {
    let routes: Vec<String> =
        openapi::paths().map(|(method, path)| format!("{} {path}", method.to_uppercase())).collect();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let index = serde_json::json!({
        "name": "sluice",
        "version": env!("CARGO_PKG_VERSION"),
        "store": app.store.is_some(),
        "tools": server_tools(&app.any_defaults().mcp),
        "inspector": inspector.zip(host).and_then(|(inspector, host)| inspector.url(host)),
        "routes": routes,
    });
    json(200, to_json(&index))
}

/// The tools that the server runs, as requests to Responses name them: each tool server once.
fn server_tools(servers: &McpServers) -> Vec<Value> {
    let built_in = [("web_search", servers.web_search()), ("code_interpreter", servers.code_interpreter())];
    let is_built_in =
        |label| built_in.iter().any(|(_, server)| server.as_ref().is_some_and(|one| one.label() == label));
    let labels = servers.all().map(McpServer::label).filter(|label| !is_built_in(*label));
    let labelled = labels.map(|label| serde_json::json!({ "type": "mcp", "server_label": label }));
    let named = built_in.iter().filter(|(_, server)| server.is_some());
    labelled.chain(named.map(|(kind, _)| serde_json::json!({ "type": kind }))).collect()
}

/// The version.
pub(crate) async fn version() -> Response {
    json(200, concat!(r#"{"version":""#, env!("CARGO_PKG_VERSION"), r#""}"#).to_owned())
}

/// The served models, in the shape of the client's protocol.
pub(crate) async fn list_models(State(app): State<App>, headers: HeaderMap, asker: Asker) -> Response {
    let mut list = Vec::new();
    for model in &app.models {
        let (created, context) = (model.created(), model.context());
        list.extend(model.names().iter().map(|name| models::ModelCard::new(name, created, context)));
    }
    let mut list = models::ModelList::new(list);
    if models::asks_catalog(&asker.query) {
        list = list.with_catalog(catalog(&app));
    }
    if !is_anthropics(&headers) {
        return json(200, to_json(&list));
    }
    match messages::ModelPage::new(list, &asker.query) {
        Ok(page) => json(200, to_json(&page)),
        Err(error) => refuse(&error),
    }
}

/// The names with what Codex asks of a provider.
fn catalog(app: &App) -> Vec<CatalogEntry> {
    let mut entries = Vec::new();
    for model in &app.models {
        let efforts = model.efforts();
        for name in model.names() {
            entries.push(CatalogEntry::new(name, entries.len(), model.context(), &efforts));
        }
    }
    entries
}

/// One of them.
pub(crate) async fn one_model(
    State(app): State<App>,
    headers: HeaderMap,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    let Ok(Path(id)) = id else { return refuse(&ApiError::unreadable_path()) };
    let Some(model) = app.models.find(&id) else { return refuse(&app.model_not_found(&id)) };
    let model = models::ModelCard::new(id, model.created(), model.context());
    if is_anthropics(&headers) {
        json(200, to_json(&messages::ModelInfo::from(model)))
    } else {
        json(200, to_json(&model))
    }
}

/// Figures for Prometheus.
pub(crate) async fn scrape(State(app): State<App>) -> Response {
    let figures =
        [(REQUEST_MEMORY, app.accounts.memory_held()), (GRAMMAR_MEMORY, app.models.first().grammar_bytes())];
    let of_store = app.store.is_some().then(|| (PLACES, app.reads.of_one()));
    for (metric, figure) in figures.into_iter().chain(of_store) {
        #[expect(clippy::cast_precision_loss, reason = "metrics are f64; figures below 2^53 are exact")]
        ::metrics::gauge!(metric.name()).set(figure as f64);
    }
    typed(200, "text/plain; version=0.0.4", Body::from(metrics::render(&app.models)))
}
