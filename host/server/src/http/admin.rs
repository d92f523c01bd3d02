//! Routes for operators, on an address of their own (`--admin-listen`): list the parsers, reload
//! them, and look into answers, by the inspector's page or without it.
//!
//! All but the page's files and the probes require the same keys as the other routes. The main
//! address serves none of them but the probes and `/metrics`. Pages of other origins can't use them,
//! whatever `--cors-origin` says: that switch opens the models to pages, not the operators' routes.
//! The page's files are given to any origin, since they hold nothing of this server: behind a proxy
//! that doesn't forward `Host`, the page's own scripts seem to be asked for by another origin.

use std::net::IpAddr;

use axum::Router;
use axum::extract::{Path, State};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use http::Uri;
use serde::Serialize;

use crate::accept::access::refuse_foreign_pages;
use crate::accept::app::App;
use crate::answer::{SseBody, TapReader};
use crate::http::admin_parse::parse;
use crate::http::answer::{Answered, json, refuse, to_json};
use crate::http::event_stream::event_stream;
use crate::http::methods::{get_only, no_route, post_only};
use crate::http::probes::probes;
use crate::http::routes::{behind_key, figures, layered};
use crate::inspector;
use api::error::ApiError;
use api::frames::Frames;
use api::query::Query;
use model::{LoadResult, Model, ParserReport};

/// All routes of the admin address, in the same layers as those of the main address, without CORS.
pub(crate) fn router(app: App, listen: IpAddr) -> Router {
    let open = probes().into_iter().fold(Router::new(), |open, (path, probe)| open.route(path, probe));
    let files = Router::new()
        .route("/inspector", get_only(inspector::page))
        .route("/inspector/{file}", get_only(inspector::file));
    let keyed = Router::new()
        .route("/admin/parsers", get_only(parsers))
        .route("/admin/parsers/reload", post_only(reload))
        .route("/admin/answers", get_only(answers))
        .route("/admin/answers/{id}/tap", get_only(tap))
        .route("/admin/parse", post_only(parse))
        .fallback(no_route);
    let same_origin = from_fn_with_state(app.access.clone(), refuse_foreign_pages);
    let keyed = behind_key(&app, keyed.layer(same_origin.clone()));
    let figures = figures(&app);
    layered(app, listen, None, open.merge(figures).layer(same_origin).merge(files).merge(keyed))
}

/// Body of an answer: the parser of each model.
#[derive(Serialize)]
struct ParserList {
    models: Vec<ModelParser>,
}

/// Parser of one model.
#[derive(Serialize)]
struct ModelParser {
    model: String,
    #[serde(flatten)]
    report: ParserReport,
    /// Names of the parsers by which a text can be parsed for the model.
    loadable: Vec<String>,
}

impl ParserList {
    /// The answer's body; `reports` are in the order of the models.
    async fn answer(app: App, status: u16, reports: Vec<ParserReport>) -> Response {
        let list = move || {
            let of = |(model, report): (&Model, _)| ModelParser {
                model: model.label().to_string(),
                report,
                loadable: model.parser_names(),
            };
            Self { models: app.models.iter().zip(reports).map(of).collect() }
        };
        match tokio::task::spawn_blocking(list).await {
            Ok(list) => json(status, to_json(&list)),
            Err(_) => refuse(&ApiError::internal("The server failed to list its parsers.")),
        }
    }
}

async fn parsers(State(app): State<App>) -> Response {
    let reports = app.models.iter().map(Model::parsers).collect();
    ParserList::answer(app, 200, reports).await
}

/// The last answers, newest first.
async fn answers(State(app): State<App>) -> Answered {
    Ok(json(200, app.taps()?.list_json().to_string()))
}

/// The lines of one answer's trace, to its end; with `?after=LINE` those behind that one.
async fn tap(State(app): State<App>, Path(id): Path<String>, uri: Uri) -> Answered {
    let (taps, after) = (app.taps()?, Query::new(uri.query().unwrap_or_default()).after_line()?);
    let reader = id.parse().ok().and_then(|id| taps.reader(id, after));
    let TapReader { first, lines } = reader.ok_or_else(|| ApiError::no_trace(&id))?;
    let body = SseBody::new(lines, Frames::new(false), &app.limits.http);
    Ok(event_stream(match first {
        Some(first) => body.behind(&first),
        None => body,
    }))
}

/// Answers after all loads have ended: 200 with the reports, or 409 if a parser can't be loaded and
/// the old one stays in use. Bad files that aren't the current parser's are in the reports only.
async fn reload(State(app): State<App>) -> Response {
    let reports = app.models.reload_parsers("admin").await;
    let failed = reports.iter().any(|report| report.last_load.result == LoadResult::Failed);
    let status = if failed { 409 } else { 200 };
    ParserList::answer(app, status, reports).await
}
